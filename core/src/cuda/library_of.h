/// Which library makes plans for a kernel, on both sides of the module's interface.
#pragma once

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

enum class Library { none, cublas, cudnn };

/// Products of matrices and convolutions; all else is kernels of ours.
constexpr Library library_of(Op op) {
  switch (op) {
    case Op::matmul:
    case Op::dense:
    case Op::dense_backward_weight:
      return Library::cublas;
    case Op::conv2d:
    case Op::conv2d_backward_input:
    case Op::conv2d_backward_weight:
      return Library::cudnn;
    default:
      return Library::none;
  }
}

/// Whether a library decides something about calls like this.
constexpr bool needs_plan(Op op) {
  return library_of(op) != Library::none;
}

}  // namespace ronde::inline v0::cuda
