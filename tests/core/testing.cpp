#include "core/testing.h"

namespace ronde::test {

Values random_values(std::int64_t count, std::uint64_t seed) {
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Philox4 bits = philox(seed, {static_cast<std::uint32_t>(i), 0, 0, 0});
    values[i] = 2 * uniform_double(bits[0], bits[1]) - 1;
  }
  return values;
}

Tensor tensor(Backend& backend, const Shape& shape, const Values& values, DType dtype) {
  return Tensor::from<double>(shape, values, &backend).to(dtype);
}

Tensor random_tensor(Backend& backend, const Shape& shape, DType dtype, std::uint64_t seed) {
  return tensor(backend, shape, random_values(shape.count(), seed), dtype);
}

Tensor unwritten(Backend& backend, const Shape& shape, DType dtype) {
  return Tensor::full(shape, is_floating(dtype) ? std::nan("") : 77.0, {.dtype = dtype, .backend = &backend});
}

double tolerance(DType dtype) {
  return dtype == DType::f64 ? 1e-12 : 2e-5;
}

void expect_close(const Tensor& actual, const Values& expected) {
  const Values got = actual.to_vector<double>();
  ASSERT_EQ(got.size(), expected.size()) << to_string(actual);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance(actual.dtype()) * std::max(1.0, std::abs(expected[i])))
        << "element " << i << " of " << to_string(actual);
}

void for_each_real(const std::function<void(DType)>& body) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    SCOPED_TRACE(to_string(dtype));
    body(dtype);
  }
}

}  // namespace ronde::test
