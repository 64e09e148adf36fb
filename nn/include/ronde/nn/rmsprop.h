/// RMSprop: v = rho * v + (1 - rho) * g^2; w -= rate * g / sqrt(v + epsilon). With momentum the step goes
/// through m = momentum * m + step; centered: v minus the squared mean gradient takes v's place.
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct RMSpropOptions {
  double learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  /// false: sqrt(v) + epsilon, as Keras up to 2.10 had it.
  bool epsilon_inside_sqrt = true;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API RMSprop : public Optimizer {
 public:
  explicit RMSprop(RMSpropOptions options = {});
  std::string name() const override { return "RMSprop"; }
  ConfigDict config() const override;
  ConfigDict own_settings() const override;
  void attach(ParameterArena& arena) override;

 protected:
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  RMSpropOptions options_;
  Tensor velocity_, momentum_, mean_gradient_;  // the last two are undefined when unused
};

}  // namespace ronde::inline v0
