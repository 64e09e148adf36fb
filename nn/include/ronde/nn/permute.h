/// Permute: the axes of each sample in another order. Axis k of the result is axis dims[k - 1] of the input,
/// where axes are counted from 1, as the batch, which stays, is 0.
///
///     Permute({2, 1})       // (n, steps, features) -> (n, features, steps)
///     Permute({3, 1, 2})    // (n, h, w, c) -> (n, c, h, w)
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Permute : public Module {
 public:
  /// A UsageError for dims that are not each of 1 ... dims.rank() once.
  explicit Permute(const Shape& dims);
  std::string class_name() const override { return "Permute"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  const Shape& dims() const { return dims_; }
  /// With the batch in front: (0, dims...).
  Shape axes() const { return dims_.batch_of(0); }

 private:
  Shape dims_;
};

}  // namespace ronde::inline v0
