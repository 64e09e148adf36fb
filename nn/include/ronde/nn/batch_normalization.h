/// BatchNormalization: each channel (last axis) to mean 0 and variance 1, then times gamma plus beta.
///
/// Training uses the statistics of the batch, with the biased variance, and updates the moving ones:
/// moving = moving * momentum + batch * (1 - momentum). Inference, and a layer frozen by
/// `set_trainable(false)`, uses the moving ones. An empty batch changes nothing.
///
/// The batch is that of this rank (of which `FitOptions::micro_batch` makes several, one after the other) or,
/// if `synchronized`, those of all ranks together: the same result as one rank with the whole batch, for two
/// small sums over the ranks a step. Such a layer needs its ranks to run the same layers, and the whole batch
/// at once (`micro_batch` does nothing then).
///
/// Keras 2 multiplied the variance that enters moving_variance by N / (N - 1) for images, N being the number
/// of values per channel; Keras 3 does not. `MovingVariance::unbiased` is the former. It is in no file, as
/// Keras has no word for it: a layer that `Model::load` makes is biased.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

enum class MovingVariance { biased, unbiased };

struct BatchNormalizationOptions {
  std::int64_t axis = -1;  ///< of the channels: the last, as -1 or as its number; `build` refuses others
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;  ///< has beta
  bool scale = true;   ///< has gamma
  bool synchronized = false;
  MovingVariance moving_variance = MovingVariance::biased;
  Initializer beta_initializer = Initializer::zeros;
  Initializer gamma_initializer = Initializer::ones;
  Initializer moving_mean_initializer = Initializer::zeros;
  Initializer moving_variance_initializer = Initializer::ones;
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  std::string name = {};
};

class RONDE_API BatchNormalization : public Module {
 public:
  explicit BatchNormalization(BatchNormalizationOptions options = {});
  std::string class_name() const override { return "BatchNormalization"; }
  ConfigDict config() const override;
  bool is_synchronized() const override { return options_.synchronized && trainable(); }
  MovingVariance moving_variance() const { return options_.moving_variance; }
  bool keeps_mask() const override { return true; }
  /// (..., c) -> (..., c)
  Variable forward(const Variable& x, const Context& context) override;
  /// The activation of that, in fewer passes over memory. An addend of x's shape is added in front of the
  /// activation, which then is a relu or nothing.
  Variable forward_with(UnaryStage activation, const Variable& x, const Context& context,
                        const Variable& addend = {});
  /// Whether it normalises by the moving statistics there.
  bool is_inference(const Context& context) const { return !context.training || !trainable(); }
  /// What is_inference() and the activation call batch_norm_inference with.
  BatchNormCall inference_call(UnaryStage activation) const;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  void update_moving(const BatchStatistics& batch);

  BatchNormalizationOptions options_;
  Variable gamma_, beta_;  // undefined when not wanted
  Variable moving_mean_, moving_variance_;
};

}  // namespace ronde::inline v0
