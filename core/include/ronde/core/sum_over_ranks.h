/// SumOverRanks: how a computation adds up numbers over all processes that train together, without knowing
/// what a process is.
///
/// In place, element by element, a contiguous host tensor of f64; the same bits everywhere afterwards. Every
/// process calls it equally often and in the same order with tensors of the same shape. Empty: there is only
/// this one.
#pragma once

#include <functional>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

using SumOverRanks = std::function<void(const Tensor& values)>;

}  // namespace ronde::inline v0
