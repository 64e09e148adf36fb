/// Dropout: while training, drops the fraction `rate` of the elements and scales the rest by 1 / (1 - rate).
///
///     Dropout(0.5)
///     Dropout(0.2, {1, 1, 1})     // of images: each as a whole, or not at all (stochastic depth)
///     Dropout(0.2, {1, 1, -1})    // each channel as a whole
///
/// The mask of a row is a function of (context.seed, epoch, global sample index, path of the layer), where
/// context.sample_keys, which a loader's batch carries, gives sample and epoch: so it is the same on any
/// number of ranks. Without sample keys row i of the layer's k-th such call counts as sample i of epoch k:
/// masks still differ from row to row and step to step, but depend on the calls made before. With sample keys
/// a layer that is called twice in one forward drops the same elements both times: use two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Dropout : public Module {
 public:
  /// `noise_shape` is that of a row of the mask, Keras' without the batch: along an axis of 1 it is the same,
  /// -1 stands for the input's extent. Empty: each element is dropped by itself.
  explicit Dropout(double rate, const Shape& noise_shape = {});
  double rate() const { return rate_; }
  bool is_elementwise() const { return noise_shape_.rank() == 0; }
  std::string class_name() const override { return "Dropout"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  Variable forward(const Variable& x, const Context& context) override;
  /// What the operation `dropout` gets for as many samples as x has; nothing where none are dropped. Without
  /// sample keys it counts as a call of the layer.
  std::optional<DropoutCall> call(const Variable& x, const Context& context);

 private:
  Tensor make_keys(const Variable& x);

  double rate_;
  Shape noise_shape_;
  std::int64_t unkeyed_calls_ = 0;  // only touched atomically
};

}  // namespace ronde::inline v0
