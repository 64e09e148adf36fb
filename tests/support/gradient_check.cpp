#include "support/gradient_check.h"

namespace ronde::test {

Tensor f64_tensor(const Shape& shape, const std::vector<double>& values) {
  return Tensor::from<double>(shape, values, &backend("cpu"));
}

Variable leaf(const Shape& shape, const std::vector<double>& values) {
  return Variable::parameter(f64_tensor(shape, values));
}

Tensor i32_tensor(const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>({static_cast<std::int64_t>(values.size())}, values, &backend("cpu"));
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Philox4 bits = philox(seed, {static_cast<std::uint32_t>(i), 0, 0, 0});
    values[i] = low + (high - low) * uniform_double(bits[0], bits[1]);
  }
  return f64_tensor(shape, values);
}

Tensor strided_copy(const Tensor& x) {
  Shape reversed;
  for (int i = x.rank() - 1; i >= 0; --i) reversed.push_back(i);
  return x.permute(reversed).clone().permute(reversed);
}

double dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

void expect_close(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what;
  const std::vector<double> values = actual.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
        << what << ", element " << i;
}

std::vector<double> numeric_gradient(const Function& f, const std::vector<Tensor>& inputs, std::size_t k,
                                     const Tensor& seed, double step) {
  const NoGrad no_grad;
  const auto value = [&](std::size_t i, double shift) {
    Variables v(inputs.begin(), inputs.end());
    std::vector<double> moved = inputs[k].to_vector<double>();
    moved[i] += shift;
    v[k] = f64_tensor(inputs[k].shape(), moved);
    return dot(seed, f(v).value());
  };
  std::vector<double> gradient(static_cast<std::size_t>(inputs[k].count()));
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = (value(i, step) - value(i, -step)) / (2 * step);
  return gradient;
}

std::vector<Tensor> backward_gradients(const Function& f, const std::vector<Tensor>& inputs,
                                       const Tensor& seed, const CheckMode& mode) {
  Variables leaves;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const bool wanted = mode.only < 0 || static_cast<std::size_t>(mode.only) == k;
    leaves.push_back(wanted ? Variable::parameter(inputs[k]) : Variable(inputs[k]));
  }
  std::int64_t total = 0;
  for (const Tensor& input : inputs) total += input.count();
  const TensorOptions options{.dtype = DType::f64, .backend = &backend("cpu")};
  const Tensor values = Tensor::empty({total}, options);
  const Tensor arena = Tensor::full({total}, std::numeric_limits<double>::quiet_NaN(), options);
  std::int64_t offset = 0;
  for (Variable& leaf : leaves) {
    const Shape shape = leaf.shape();
    if (mode.bound) leaf.bind(values.view(offset, shape), arena.view(offset, shape));
    offset += shape.count();
  }
  f(leaves).backward(mode.strided_seed ? strided_copy(seed) : seed);
  std::vector<Tensor> gradients;
  for (const Variable& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

void expect_gradients(const Function& f, const std::vector<Tensor>& inputs, CheckOptions options) {
  const Tensor seed = random_tensor(f(Variables(inputs.begin(), inputs.end())).shape(), 99);
  std::vector<CheckMode> modes{{.name = "dense seed"},
                               {.name = "strided seed", .strided_seed = true},
                               {.name = "bound memory", .bound = true}};
  for (std::size_t k = 0; k < inputs.size(); ++k)
    modes.push_back({.name = cat("only input ", k), .only = static_cast<int>(k)});
  std::vector<std::vector<double>> expected;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    expected.push_back(numeric_gradient(f, inputs, k, seed, options.step));
  for (const CheckMode& mode : modes) {
    const std::vector<Tensor> actual = backward_gradients(f, inputs, seed, mode);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (mode.only < 0 || static_cast<std::size_t>(mode.only) == k)
        expect_close(actual[k], expected[k], options.tolerance, cat(mode.name, ", input ", k));
  }
}

}  // namespace ronde::test
