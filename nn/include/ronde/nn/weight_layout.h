/// Weights as Keras' files have them: convolutions are (kh, kw, in, out) there and (out, kh, kw, in) here,
/// those of sequences (k, in, out) there.
#pragma once

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// The shape of `parameter` in a Keras file.
RONDE_API Shape keras_shape(const Parameter& parameter);
/// The same for a weight of this layout and (memory) shape.
RONDE_API Shape keras_shape(const Shape& shape, WeightLayout layout, std::int64_t depth_multiplier = 1);
/// The value in Keras' layout: dense, in the parameter's dtype; never a view of the parameter.
RONDE_API Tensor to_keras_layout(const Parameter& parameter);
/// Sets the value from one in Keras' layout, of any floating dtype; an error that names the parameter when
/// the shape differs.
RONDE_API void assign_keras_layout(Parameter& parameter, const Tensor& value);

}  // namespace ronde::inline v0
