#include "distributed/collective_values.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <ronde/core/backend.h>
#include <ronde/distributed/values.h>

namespace ronde::test {

// What is written in place must not be const.
template <class R>
concept IsReducedInPlace = requires(Communicator& world, R values) {
  allreduce(world, values);
  broadcast(world, values);
};
static_assert(IsReducedInPlace<std::vector<float>&> && IsReducedInPlace<const std::span<float>&> &&
              IsReducedInPlace<float (&)[3]>);
static_assert(!IsReducedInPlace<const std::vector<float>&> && !IsReducedInPlace<std::span<const float>> &&
              !IsReducedInPlace<const float (&)[3]>);

namespace {

// u8 wraps around modulo 256 (7 values to the 8th exceed it).
double stored(double x, DType dtype) {
  return dtype == DType::u8 ? static_cast<double>(static_cast<std::uint8_t>(static_cast<std::int64_t>(x)))
                            : x;
}

}  // namespace

double value(int r, std::int64_t i, DType dtype) {
  const std::int64_t k = (i % kPeriod + 31 * r) * 2654435761 % 1021;
  if (dtype == DType::u8) return static_cast<double>(k % 7);
  if (!is_floating(dtype)) return static_cast<double>(k % 15 - 7);
  const auto x = static_cast<float>(0.5 + static_cast<double>(k) / 1021.0);
  return dtype == DType::bf16 ? static_cast<double>(static_cast<float>(bfloat16(x))) : static_cast<double>(x);
}

TensorOptions host(DType dtype) {
  return {.dtype = dtype, .backend = &backend("cpu")};
}

Tensor make_input(int r, const Shape& shape, DType dtype, std::int64_t offset) {
  const Tensor tensor = Tensor::empty(shape, host(dtype));
  visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = tensor.data<T>();
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if constexpr (std::is_same_v<T, bfloat16>) {
        data[i] = bfloat16(static_cast<float>(value(r, offset + i, dtype)));
      } else {
        data[i] = static_cast<T>(value(r, offset + i, dtype));
      }
    }
  });
  return tensor;
}

double reduced(int size, std::int64_t i, DType dtype, Reduction op) {
  double result = value(0, i, dtype);
  for (int r = 1; r < size; ++r) {
    const double x = value(r, i, dtype);
    switch (op) {
      case Reduction::min:
        result = std::min(result, x);
        break;
      case Reduction::max:
        result = std::max(result, x);
        break;
      case Reduction::product:
        result *= x;
        break;
      default:
        result += x;
    }
  }
  return op == Reduction::average ? result / size : result;
}

double tolerance(int size, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return size * 0x1p-24;
    case DType::f64:
      return size * 0x1p-53;
    case DType::bf16:
      return 0x1p-8 + size * 0x1p-24;
    default:
      return 0.0;
  }
}

void expect_values(const Tensor& actual, const Reference& reference, double relative,
                   const std::string& what) {
  const std::vector<double> values = actual.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = stored(reference(static_cast<std::int64_t>(i)), actual.dtype());
    if (std::abs(values[i] - expected) <= relative * std::abs(expected)) continue;
    ADD_FAILURE() << what << ": element " << i << " of " << to_string(actual) << " is " << values[i]
                  << ", expected " << expected;
    return;
  }
}

void expect_same_bits(Communicator& c, const Tensor& tensor, const std::string& what) {
  const std::string own(static_cast<const char*>(tensor.raw()), tensor.byte_size());
  const auto hash = static_cast<std::int64_t>(std::hash<std::string>{}(own));
  const Tensor bounds = Tensor::from<std::int64_t>({2}, {hash, ~hash}, &backend("cpu"));
  c.allreduce(bounds, Reduction::max).wait();
  EXPECT_EQ(bounds.data<std::int64_t>()[0], hash) << what << ": bits differ by rank";
  EXPECT_EQ(bounds.data<std::int64_t>()[1], ~hash) << what << ": bits differ by rank";
}

}  // namespace ronde::test
