/// Which targets go with which outputs, for losses and metrics alike.
#pragma once

#include <string>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// An Error that names `what` unless the target has the output's shape, or is (n) for outputs (n, 1).
void check_like_outputs(const std::string& what, const Tensor& target, const Shape& outputs);

/// Class labels i32 (n) of labels or of one-hot rows (n, k); an Error that names `what` for other shapes.
Tensor class_labels(const std::string& what, const Tensor& target, const Shape& outputs);

}  // namespace ronde::inline v0
