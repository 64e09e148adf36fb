#pragma once

#include <cstdint>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// In place: makes the columns of a matrix (rows, columns), f32 or f64, orthonormal, by Gram and Schmidt's
/// method, twice over, with products in f64. A column that depends on those before it is replaced by numbers
/// that `seed` determines. The same bits for the same input. rows >= columns.
void orthonormalize(const Tensor& matrix, std::uint64_t seed);

/// Normally distributed numbers, the same for the same seed.
void fill_normal(const Tensor& matrix, std::uint64_t seed);

}  // namespace ronde::inline v0
