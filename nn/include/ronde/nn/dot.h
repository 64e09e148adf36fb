/// Dot: sums of products of two inputs along an axis of each, for each sample.
///
///     y = net.add(Dot({.axes = {1}}), {a, b});       // (n, k) and (n, k) -> (n, 1)
///     y = net.add(Dot({.axes = {2, 2}}), {a, b});    // (n, t, k) and (n, s, k) -> (n, t, s)
///     y = net.add(Dot({.axes = {1}, .normalize = true}), {a, b});  // cosines
///
/// The result has the first input's axes but for the one that is summed over, then the second's but for that
/// and the batch; where none is left but the batch, (n, 1). Masks end here, as in Keras. Vectors shorter than
/// 1e-6 are not made as long as 1, which Keras 3 does down to 1e-7.
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct DotOptions {
  /// One for both inputs, or one of each, where the batch is axis 0; negative ones count from the end.
  Shape axes;
  bool normalize = false;  ///< of vectors along the axes that are as long as 1
  std::string name = {};
};

class RONDE_API Dot : public Module {
 public:
  explicit Dot(DotOptions options);
  std::string class_name() const override { return "Dot"; }
  ConfigDict config() const override;
  /// An error: there is nothing to multiply with.
  Variable forward(const Variable& x, const Context& context) override;
  Variable join(const std::vector<Variable>& inputs, const Context& context) override;
  const DotOptions& options() const { return options_; }
  /// Of inputs of these shapes, batch included: the axis of each, from the front. An error that names the
  /// layer where they do not fit.
  Shape axes_of(const Shape& a, const Shape& b) const;

 private:
  DotOptions options_;
};

}  // namespace ronde::inline v0
