/// UnitNormalization: each sample, or each pixel or step of it, to the length 1 over its last axis, or over
/// others.
///
///     UnitNormalization()                        // (n, ..., c): each vector of channels
///     UnitNormalization({.axes = {1, 2, 3}})     // (n, h, w, c): the whole image
///
/// y = x / sqrt(max(sum(x^2), 1e-12)), as in Keras 2. In Keras 3 the length is at least 1e-12 and not 1e-6:
/// what is shorter than that comes out longer there. In bf16 it computes in f32. Keras 3 forgets several axes
/// of an .h5, its own too: such a net is one for .keras.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct UnitNormalizationOptions {
  std::vector<std::int64_t> axes = {-1};  ///< any but the batch's 0; negative ones from the last on
  std::string name = {};
};

class RONDE_API UnitNormalization : public Module {
 public:
  explicit UnitNormalization(UnitNormalizationOptions options = {});
  std::string class_name() const override { return "UnitNormalization"; }
  const UnitNormalizationOptions& options() const { return options_; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (n, ...) -> (n, ...)
  Variable forward(const Variable& x, const Context& context) override;

 private:
  UnitNormalizationOptions options_;
};

}  // namespace ronde::inline v0
