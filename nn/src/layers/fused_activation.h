/// A relu is a part of a product or convolution, other activations follow it.
#pragma once

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>

namespace ronde::inline v0 {

inline Epilogue epilogue_of(Activation::Kind activation) {
  return activation == Activation::relu ? Epilogue::relu : Epilogue::none;
}

/// What is left to do with y, which was computed with that epilogue.
inline Variable apply_rest(Activation::Kind activation, const Variable& y) {
  return activation == Activation::relu ? y : apply_activation(activation, y);
}

}  // namespace ronde::inline v0
