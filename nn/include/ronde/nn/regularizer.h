/// Regularizer: what large weights cost, l1 * sum |w| + l2 * sum w^2, with Keras' names and defaults.
///
///     Dense({.units = 10, .kernel_regularizer = Regularizer::l2(1e-4)});
///
/// Penalties are added to the mean loss of the samples: neither their number nor their weights scale them,
/// nor do ranks. `Model` reports them as part of the loss. Their gradients, l1 * sign(w) + 2 * l2 * w, are
/// added by `Optimizer::step`, in a loop of one's own too (regularization_loss.h). A frozen weight has none.
///
/// This is not the `weight_decay` of an optimizer, which shrinks weights beside the gradient.
#pragma once

#include <ronde/nn/config.h>

namespace ronde::inline v0 {

class RONDE_API Regularizer {
 public:
  /// None.
  Regularizer() = default;
  /// A factor that is negative or no finite number is a UsageError.
  static Regularizer l1(double factor = 0.01) { return {factor, 0.0}; }
  static Regularizer l2(double factor = 0.01) { return {0.0, factor}; }
  static Regularizer l1_l2(double l1 = 0.01, double l2 = 0.01) { return {l1, l2}; }

  double l1_factor() const { return l1_; }
  double l2_factor() const { return l2_; }
  bool is_none() const { return l1_ == 0.0 && l2_ == 0.0; }

  /// Keras' short form: {"class_name": "L2", "config": {"l2": 0.01}}.
  ConfigDict config() const;
  /// From Keras' short or long form of L1, L2 and L1L2, or a name ("l2"), with Keras' defaults; an InputError
  /// for anything else.
  static Regularizer from_config(const ConfigValue& config);

 private:
  Regularizer(double l1, double l2);

  double l1_ = 0.0;
  double l2_ = 0.0;
};

}  // namespace ronde::inline v0
