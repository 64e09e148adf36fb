/// Stochastic gradient descent with momentum: w -= rate * g, or with momentum
/// v = momentum * v - rate * g; w += v, or w += momentum * v - rate * g with Nesterov's look-ahead.
/// The momentum is rounded to float, as Keras does.
///
/// There are two conventions of a decay of the weights, which differ once there is momentum or a schedule:
/// Keras' `weight_decay` takes rate * weight_decay * w off the weights before the update; what PyTorch calls
/// weight_decay, here `l2`, is added to the gradient: g + l2 * w. Keras' files know the former only.
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct SGDOptions {
  double learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  double l2 = 0.0;     ///< after clipping by norm; not together with a clip by value
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API SGD : public Optimizer {
 public:
  explicit SGD(SGDOptions options = {});
  std::string name() const override { return "SGD"; }
  ConfigDict config() const override;
  ConfigDict own_settings() const override;
  void attach(ParameterArena& arena) override;

 protected:
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  SGDOptions options_;
  Tensor velocity_;  // undefined without momentum
};

}  // namespace ronde::inline v0
