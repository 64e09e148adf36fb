// matmul and dense.
#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(Matmul, Values) {
  const Tensor a = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = f64_tensor({3, 2}, {1, -1, 0, 2, 3, 1});
  expect_close(matmul(a, b).value(), {10, 6, 22, 12}, 0, "2 x 3 by 3 x 2");
  const Tensor stack_a = f64_tensor({2, 1, 2}, {1, 2, 3, 4}), stack_b = f64_tensor({2, 2, 1}, {5, 6, 7, 8});
  expect_close(matmul(stack_a, stack_b).value(), {17, 53}, 0, "a stack of two");
}

TEST(Matmul, Gradients) {
  const auto f = [](const Variables& v) { return matmul(v[0], v[1]); };
  expect_gradients(f, {random_tensor({2, 3}, 1), random_tensor({3, 4}, 2)});
  expect_gradients(f, {random_tensor({1, 1}, 1), random_tensor({1, 5}, 2)});
  expect_gradients(f, {random_tensor({3, 2, 5}, 1), random_tensor({3, 5, 1}, 2)});
}

TEST(Matmul, OfViewsAndOfTheSameVariableTwice) {
  expect_gradients(
      [](const Variables& v) {
        return matmul(v[0], permute(v[0], {1, 0}));
      },
      {random_tensor({3, 4})});
  expect_gradients([](const Variables& v) { return matmul(slice(v[0], 1, 1, 3), v[1]); },
                   {random_tensor({3, 4}, 1), random_tensor({2, 2}, 2)});
  expect_gradients([](const Variables& v) { return matmul(v[0], matmul(v[0], v[0])); },
                   {random_tensor({3, 3})});
}

// They are multiplied as they lie.
TEST(Matmul, OfTransposes) {
  const Shape flat{1, 0}, stacked{0, 2, 1};
  for (const bool of_a : {false, true})
    for (const bool of_b : {false, true})
      for (const std::int64_t batch : {0, 1, 3}) {
        const Shape axes = batch == 0 ? flat : stacked;
        const auto shape = [&](std::int64_t rows, std::int64_t columns, bool turned) {
          const Shape matrix = turned ? Shape{columns, rows} : Shape{rows, columns};
          return batch == 0 ? matrix : matrix.batch_of(batch);
        };
        const auto f = [&](const Variables& v) {
          return matmul(of_a ? permute(v[0], axes) : v[0], of_b ? permute(v[1], axes) : v[1]);
        };
        const Tensor a = random_tensor(shape(2, 5, of_a), 1), b = random_tensor(shape(5, 4, of_b), 2);
        const Tensor y = f({a, b}).value();
        const auto dense = [&](const Tensor& x, bool turned) { return turned ? x.permute(axes).clone() : x; };
        EXPECT_EQ(y.to_vector<double>(), matmul(dense(a, of_a), dense(b, of_b)).value().to_vector<double>());
        expect_gradients(f, {a, b});
      }
}

TEST(Matmul, OfEmptyMatrices) {
  const auto f = [](const Variables& v) { return matmul(v[0], v[1]); };
  expect_gradients(f, {random_tensor({0, 3}), random_tensor({3, 4})});
  expect_gradients(f, {random_tensor({0, 2, 3}), random_tensor({0, 3, 4})});
  expect_gradients(f, {random_tensor({2, 0}), random_tensor({0, 4})});
  expect_close(matmul(random_tensor({1, 0}), random_tensor({0, 2})).value(), {0, 0}, 0, "no terms");
}

TEST(Matmul, SaysWhatDoesNotFit) {
  const auto message = [](const Shape& a, const Shape& b) {
    return message_of([&] { matmul(random_tensor(a), random_tensor(b)); });
  };
  EXPECT_EQ(message({2, 3}, {4, 5}), "[matmul] (2, 3) x (4, 5): inner extents 3 and 4 differ");
  EXPECT_EQ(message({2, 3, 4}, {3, 4, 5}), "[matmul] (2, 3, 4) x (3, 4, 5): batch extents 2 and 3 differ");
  EXPECT_EQ(message({2, 3}, {3}), "[matmul] (2, 3) x (3,): expects two matrices, or two stacks of them");
  EXPECT_EQ(
      message({2, 3, 4, 5}, {2, 3, 5, 4}),
      "[matmul] (2, 3, 4, 5) x (2, 3, 5, 4): expects two matrices, or two stacks of them. Reshape further "
      "batch axes into one, (n, h, t, d) into (n * h, t, d)");
}

TEST(Dense, Values) {
  const Tensor x = f64_tensor({2, 2}, {1, 2, -3, 1}), w = f64_tensor({2, 3}, {1, 0, 2, -1, 1, 1});
  const Tensor b = f64_tensor({3}, {0.5, 0, -5});
  expect_close(dense(x, w).value(), {-1, 2, 4, -4, 1, -5}, 0, "without bias");
  expect_close(dense(x, w, b).value(), {-0.5, 2, -1, -3.5, 1, -10}, 0, "with bias");
  expect_close(dense(x, w, b, Epilogue::relu).value(), {0, 2, 0, 0, 1, 0}, 0, "with relu");
}

TEST(Dense, Gradients) {
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
    const auto f = [&](const Variables& v) { return dense(v[0], v[1], v[2], epilogue); };
    for (const std::int64_t n : {0, 1, 3})
      expect_gradients(f, {random_tensor({n, 5}, 1), random_tensor({5, 4}, 2), random_tensor({4}, 3)});
    expect_gradients([&](const Variables& v) { return dense(v[0], v[1], {}, epilogue); },
                     {random_tensor({3, 5}, 1), random_tensor({5, 1}, 2)});
  }
}

TEST(Dense, OfViewsAndSharedWeights) {
  expect_gradients(
      [](const Variables& v) {
        const Variable h = dense(permute(v[0], {1, 0}), v[1], v[2], Epilogue::relu);
        return dense(h, v[1], v[2]) + h;
      },
      {random_tensor({3, 2}, 1), random_tensor({3, 3}, 2), random_tensor({3}, 3)});
}

TEST(Dense, SaysWhatDoesNotFit) {
  const Tensor x = random_tensor({2, 3});
  EXPECT_EQ(message_of([&] { dense(x, random_tensor({4, 5})); }), "[dense] weight expects 4 inputs, got 3");
  EXPECT_EQ(message_of([&] {
              dense(x, random_tensor({3, 5}), random_tensor({4}));
            }),
            "[dense] bias must be (5,), got shape (4,)");
  EXPECT_EQ(message_of([&] {
              dense(random_tensor({2, 3, 4}), random_tensor({4, 5}));
            }),
            "[dense] input must be (n, in), got shape (2, 3, 4)");
  EXPECT_EQ(message_of([&] {
              dense(x, random_tensor({3, 5}).to(DType::f32));
            }),
            "[dense] inputs differ in dtype: f64 (2, 3) and f32 (3, 5)");
}

TEST(Dense, OfTwoBackendsSaysHowToBringThemTogether) {
  if (backends().size() < 2) GTEST_SKIP() << "this build has one backend";
  const Tensor x = Tensor::zeros({2, 3}, {.backend = backends().front()});
  const Tensor weight = Tensor::zeros({3, 5}, {.backend = &backend("cpu")});
  EXPECT_EQ(message_of([&] { dense(x, weight); }),
            cat("[dense] inputs lie on different backends: ", backends().front()->name(),
                " and cpu; x.to(y.backend()) moves x to where y lies, x.to(default_backend()) to where new "
                "tensors do"));
  EXPECT_EQ(dense(x.to(weight.backend()), weight).shape(), (Shape{2, 5}));
  const Tensor labels = Tensor::zeros({2}, {.dtype = DType::i32, .backend = &backend("cpu")});
  EXPECT_NE(message_of([&] { softmax_cross_entropy(x, labels); }).find("x.to(default_backend())"),
            std::string::npos);
}

}  // namespace
}  // namespace ronde::test
