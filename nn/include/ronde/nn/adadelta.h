/// Adadelta: a = rho * a + (1 - rho) * g^2; delta = g * sqrt(d + epsilon) / sqrt(a + epsilon);
/// d = rho * d + (1 - rho) * delta^2; w -= rate * delta. Keras up to 2.3 had a default rate of 1.
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct AdadeltaOptions {
  double learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API Adadelta : public Optimizer {
 public:
  explicit Adadelta(AdadeltaOptions options = {});
  std::string name() const override { return "Adadelta"; }
  ConfigDict config() const override;
  void attach(ParameterArena& arena) override;

 protected:
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  AdadeltaOptions options_;
  Tensor accumulated_gradient_, accumulated_delta_;
};

}  // namespace ronde::inline v0
