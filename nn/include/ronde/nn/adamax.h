/// Adamax: m += (g - m) * (1 - beta_1); u = max(beta_2 * u, |g|);
/// w -= rate / (1 - beta_1^t) * m / (u + epsilon).
///
/// Adam with the largest gradient in place of the mean square. beta_1 (in beta^t) is rounded to float, as
/// Keras does. Source: Kingma, Ba, "Adam: a method for stochastic optimization", 2015, section 7.1.
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct AdamaxOptions {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API Adamax : public Optimizer {
 public:
  explicit Adamax(AdamaxOptions options = {});
  std::string name() const override { return "Adamax"; }
  ConfigDict config() const override;
  void attach(ParameterArena& arena) override;

 protected:
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  AdamaxOptions options_;
  Tensor momentum_, norm_;
  Tensor gradient_, scratch_;  // of a slice
};

}  // namespace ronde::inline v0
