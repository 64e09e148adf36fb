// slice, split and unstack: parts of one variable, and what their gradients cost.
#include <gtest/gtest.h>

#include <ronde/core/ops.h>

#include "backend/cpu/cpu_backend.h"
#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(Split, CutsAlongAnAxis) {
  const Variable x = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<Variable> parts = split(x, {1, 0, 2}, -1);
  ASSERT_EQ(parts.size(), 3u);
  expect_close(parts[0].value(), {1, 4}, 0, "the first");
  EXPECT_EQ(parts[1].shape(), (Shape{2, 0}));
  expect_close(parts[2].value(), {2, 3, 5, 6}, 0, "the last");
  EXPECT_TRUE(parts[2].value().shares_storage_with(x.value()));
  expect_close(split(x, {1, 1})[1].value(), {4, 5, 6}, 0, "along the first axis");
}

TEST(Unstack, IsTheInverseOfStack) {
  const Tensor a = random_tensor({2, 3, 2}, 1), b = random_tensor({2, 3, 2}, 2);
  for (const int axis : {0, 1, 2, 3, -1, -2, -4}) {
    const std::vector<Variable> parts = unstack(stack({a, b}, axis), axis);
    ASSERT_EQ(parts.size(), 2u) << axis;
    EXPECT_EQ(parts[0].shape(), a.shape()) << axis;
    expect_close(parts[0].value(), a.to_vector<double>(), 0, "first");
    expect_close(parts[1].value(), b.to_vector<double>(), 0, "second");
  }
  EXPECT_EQ(unstack(f64_tensor({3}, {1, 2, 3}))[2].item(), 3.0);
  EXPECT_EQ(unstack(random_tensor({0, 2})).size(), 0u);
}

TEST(Parts, HaveGradients) {
  const std::vector<Tensor> x{random_tensor({3, 4, 2})};
  for (const int axis : {0, 1, -1})
    expect_gradients([&](const Variables& v) { return stack(unstack(exp(v[0]), axis), 1); }, x);
  expect_gradients(
      [](const Variables& v) {
        const auto parts = split(sin(v[0]), {1, 3}, 1);
        return concat({square(parts[1]), parts[0]}, 1);
      },
      x);
  expect_gradients([](const Variables& v) { return unstack(v[0], 1)[2]; }, x);  // of a leaf, others unused
}

TEST(Parts, HaveGradientsOfHighRanks) {
  expect_gradients(
      [](const Variables& v) {
        const auto parts = unstack(v[0] * 2.0, -3);
        return parts[0] * parts[2];
      },
      {random_tensor({2, 1, 2, 3, 2, 1})});
}

TEST(Parts, MayBeUnusedUsedTwiceOrUsedBesideTheWhole) {
  const auto f = [](const Variables& v, const Variable& x) {
    const auto rows = unstack(x, 0);
    const Variable twice = rows[1] * rows[1] + exp(rows[1]) * rows[3];
    return sum(twice) + sum(x * v[1]) + sum(slice(x, 0, 1, 4) * slice(x, 0, 0, 3)) + sum(rows[0]);
  };
  const std::vector<Tensor> inputs{random_tensor({5, 3}, 1), random_tensor({5, 3}, 2)};
  expect_gradients([&](const Variables& v) { return f(v, v[0]); }, inputs);
  expect_gradients([&](const Variables& v) { return f(v, tanh(v[0])); }, inputs);
  // The whole's gradient arrives first, as a tensor that others see.
  expect_gradients(
      [](const Variables& v) {
        const Variable x = tanh(v[0]);
        const Variable part = slice(x, 1, 0, 1);
        return concat({reshape(x, {3, 2}), reshape(x, {3, 2}), reshape(part, {3, 1})}, 1);
      },
      {random_tensor({3, 2})});
}

TEST(Parts, OfSeveralBackwardPassesAddUp) {
  Variable x = leaf({2, 2}, {1, 2, 3, 4});
  sum(unstack(x)[1]).backward();
  sum(square(unstack(x, 1)[0])).backward();
  expect_close(x.grad(), {2, 0, 7, 1}, 0, "sum of both");
  x.zero_grad();
  sum(unstack(x)[0]).backward();
  expect_close(x.grad(), {1, 1, 0, 0}, 0, "anew");
}

TEST(Parts, DoNotChangeASeedOrAGradientThatOthersSee) {
  const Variable x = leaf({2}, {1, 2});
  const Variable y = x * 1.0;
  const Tensor seed = f64_tensor({2}, {1, 1});
  (reshape(y, {2}) + concat({slice(y, 0, 0, 1), slice(y, 0, 0, 1)}, 0)).backward(seed);
  expect_close(seed, {1, 1}, 0, "seed");
  expect_close(x.grad(), {3, 1}, 0, "gradient");
}

TEST(Parts, OfHalves) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor values = random_tensor({4, 3}).to(dtype);
    const Variable x = Variable::parameter(values);
    const Variable y = x * 2.0;
    const auto columns = unstack(y, 1);
    sum(columns[0] + columns[2] * columns[2]).backward();
    std::vector<double> expected;
    const std::vector<double> at = values.to_vector<double>();
    for (std::size_t i = 0; i < at.size(); ++i)
      expected.push_back(i % 3 == 0 ? 2.0 : i % 3 == 1 ? 0.0 : 8.0 * at[i]);
    expect_close(x.grad().to(DType::f64), expected, dtype == DType::f32 ? 1e-6 : 0.05, "gradient");
  }
}

/// Counts the elements that kernels write.
class WritesCounted : public CpuBackend {
 public:
  void fill(const Tensor& out, double value) override {
    written += out.count();
    CpuBackend::fill(out, value);
  }
  void copy(const Tensor& out, const Tensor& x) override {
    written += out.count();
    CpuBackend::copy(out, x);
  }
  void binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) override {
    written += out.count();
    CpuBackend::binary(op, out, a, b);
  }
  void accumulate(const Tensor& x, const Tensor& y, double alpha) override {
    written += x.count();
    CpuBackend::accumulate(x, y, alpha);
  }

  std::int64_t written = 0;
};

/// Elements that the backward pass through all parts of x (4, steps, 3) writes.
std::int64_t written_for(std::int64_t steps, bool of_leaf,
                         const std::function<std::vector<Variable>(const Variable&)>& parts_of) {
  WritesCounted backend;
  Variable x =
      Variable::parameter(Tensor::full({4, steps, 3}, 1.0, {.dtype = DType::f32, .backend = &backend}));
  const std::vector<Variable> parts = parts_of(of_leaf ? x : exp(x));
  const Variable y = concat(parts, 0);
  const Tensor seed = Tensor::full(y.shape(), 1.0, {.dtype = DType::f32, .backend = &backend});
  backend.written = 0;
  y.backward(seed);
  return backend.written;
}

TEST(Parts, CostAsMuchAsTheWholeHoweverMany) {
  const auto steps_of = [](const Variable& x) { return unstack(x, 1); };
  const auto pairs_of = [](const Variable& x) {
    return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(x.size(1)) / 2, 2), 1);
  };
  const auto rows_of = [](const Variable& x) {
    return split_rows(reshape(x, {4, x.size(1) * 3}),
                      std::vector<Shape>(static_cast<std::size_t>(x.size(1)), {3}));
  };
  for (const bool of_leaf : {false, true})
    for (const auto& parts_of :
         std::vector<std::function<std::vector<Variable>(const Variable&)>>{steps_of, pairs_of, rows_of}) {
      const std::int64_t all = 4 * 100 * 3, written = written_for(100, of_leaf, parts_of);
      EXPECT_LE(written, 4 * all) << "each element is set to zero, and added to once";
      EXPECT_LE(written_for(200, of_leaf, parts_of), 2 * written + all / 10) << "twice for twice as many";
    }
}

TEST(Parts, SayWhatDoesNotFit) {
  const Variable x = random_tensor({2, 3});
  EXPECT_EQ(message_of([&] {
              split(x, {1, 1}, 1);
            }),
            "[split] the sizes add up to 2, but axis 1 of shape (2, 3) has 3");
  EXPECT_EQ(message_of([&] { split(x, {4, -1}, 1); }), "[split] sizes must not be negative, got -1");
  EXPECT_EQ(message_of([&] { split(x, {1}, 2); }), "[split] axis 2 of shape (2, 3)");
  EXPECT_EQ(message_of([&] { unstack(x, -3); }), "[unstack] axis -3 of shape (2, 3)");
}

}  // namespace
}  // namespace ronde::test
