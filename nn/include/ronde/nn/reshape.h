/// Reshape: the elements of each sample in another shape, in their order. (n, ...) -> (n, target_shape...).
///
///     Reshape({.target_shape = {7, 7, 64}})    // (n, 3136) -> (n, 7, 7, 64)
///     Reshape({.target_shape = {-1, 64}})      // (n, 7, 7, 64) -> (n, 49, 64)
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct ReshapeOptions {
  Shape target_shape;  ///< without the batch; one extent may be -1: what is left for it
  std::string name = {};
};

class RONDE_API Reshape : public Module {
 public:
  /// A UsageError for extents that are neither positive nor one -1.
  explicit Reshape(ReshapeOptions options);
  std::string class_name() const override { return "Reshape"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  /// Of the result, for an input of that shape, both without the batch; an error where it has more or fewer
  /// elements.
  Shape shape_for(const Shape& input) const;

 private:
  ReshapeOptions options_;
};

}  // namespace ronde::inline v0
