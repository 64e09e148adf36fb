/// TopKExchange: of each parameter the values of largest magnitude travel, the rest waits.
///
/// Note [Error feedback]: what a rank did not send it adds to its gradients of the next step, so that nothing
/// is lost, only late (Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory", arXiv 1809.07599).
/// Gradients are sums over samples, and an update divides by their number; when that differs from the step
/// before, what was left over is multiplied by the ratio of the two, so that it keeps its weight. Where no
/// rank has samples, nothing is updated: what the ranks sent they take back, each an equal share of the sum.
#pragma once

#include "exchange/error_feedback.h"
#include "exchange/gradient_exchange.h"

namespace ronde::inline v0 {

class TopKExchange final : public GradientExchange {
 public:
  TopKExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options,
               compression::TopK choice);

  void expect(const StepOutlook& outlook) override;
  void end_step(double total_samples) override;
  void reset() override { memory_.reset(); }

 private:
  void run(const Part& part, Wire& wire) override;
  template <class T>
  void run_typed(const Part& part, Wire& wire);
  std::int64_t kept(const Segment& segment) const;

  compression::TopK choice_;
  ErrorFeedback memory_;
};

}  // namespace ronde::inline v0
