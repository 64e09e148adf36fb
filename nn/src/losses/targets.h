/// Which targets go with which outputs, for losses and metrics alike.
///
/// Outputs of classes are (n, ..., k): one row of k for each position of each sample. Most nets have one
/// position, (n, k); one that says of each pixel what it shows has (n, h, w, k).
#pragma once

#include <string>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// An Error that names `what` unless the target has the output's shape, or is (n, ...) for outputs (n, ...,
/// 1).
void check_like_outputs(const std::string& what, const Tensor& target, const Shape& outputs);

/// An Error that names `what` unless there are as many targets as outputs.
void check_as_many(const std::string& what, const Tensor& target, const Shape& outputs);

/// (n, ...) of outputs (n, ..., k).
Shape positions_of(const Shape& outputs);
/// (rows, k) of outputs (n, ..., k).
Shape rows_of(const Shape& outputs);
/// Whether targets of this shape are labels of such outputs: (n, ...) or (n, ..., 1).
bool may_be_labels(const Shape& targets, const Shape& outputs);

/// Class labels i32 (rows) of labels or of one-hot rows (n, ..., k); an Error that names `what` for other
/// shapes.
Tensor class_labels(const std::string& what, const Tensor& target, const Shape& outputs);

}  // namespace ronde::inline v0
