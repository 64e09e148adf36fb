/// What the ranks of the collectives' tests put in, and how what comes out is compared.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <ronde/distributed/communicator.h>

namespace ronde::test {

/// Values repeat after so many elements, so that references are cheap.
constexpr std::int64_t kPeriod = 97;

/// Element i of rank r's tensor. Floats use a good part of their mantissa; all are exact in their dtype.
double value(int r, std::int64_t i, DType dtype);

/// Element i of what must come out.
using Reference = std::function<double(std::int64_t)>;

TensorOptions host(DType dtype);
Tensor make_input(int r, const Shape& shape, DType dtype, std::int64_t offset = 0);
/// Element i of the `size` ranks' tensors together, in double.
double reduced(int size, std::int64_t i, DType dtype, Reduction op);
/// Relative error that `size - 1` roundings of the dtype may cause, and one more when it is stored.
double tolerance(int size, DType dtype);
/// Element i of `actual` must be reference(i); reports the first that is not.
void expect_values(const Tensor& actual, const Reference& reference, double relative,
                   const std::string& what);
/// All ranks must hold the same bits.
void expect_same_bits(Communicator& c, const Tensor& tensor, const std::string& what);

}  // namespace ronde::test
