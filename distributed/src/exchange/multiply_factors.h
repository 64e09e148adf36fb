#pragma once

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// product (m, n) = p (m, r) times the transpose of q (n, r); f32 or f64, contiguous. In one order of
/// additions that depends on neither threads nor kernels: every rank must get the same bits, which a
/// backend's matmul does not promise.
void multiply_factors(const Tensor& product, const Tensor& p, const Tensor& q);

}  // namespace ronde::inline v0
