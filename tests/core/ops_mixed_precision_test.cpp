// Operations on bf16 with weights in f32, against the same in f64 on the rounded numbers.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

/// Of the largest magnitude of a tensor: one rounding to bf16 (half a unit of 8 bits), and sums in f32.
constexpr double kRounded = 0x1.02p-8, kSummed = 1e-5;

void expect_near(const Tensor& actual, const Tensor& expected, double tolerance, const char* what) {
  const std::vector<double> got = actual.to_vector<double>(), want = expected.to_vector<double>();
  double largest = 0;
  for (const double v : want) largest = std::max(largest, std::abs(v));
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * largest) << what << ", element " << i;
}

Variable parameter(const Tensor& value) {
  return Variable::parameter(value.clone());
}

/// inputs[0] is bf16, inputs[i] a matrix of weights where `in_products[i]`, all in f32 beside it.
void expect_mixed(const Function& f, const std::vector<Tensor>& inputs,
                  const std::vector<bool>& in_products) {
  Variables mixed, precise;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor single = inputs[i].to(DType::f32), rounded = single.to(DType::bf16);
    mixed.push_back(parameter(i == 0 ? rounded : single));
    precise.push_back(parameter((i == 0 || in_products[i] ? rounded : single).to(DType::f64)));
  }
  const Variable y = f(mixed), expected = f(precise);
  EXPECT_EQ(y.dtype(), DType::bf16);
  expect_near(y.value(), expected.value(), kRounded, "y");
  const Tensor seed = random_tensor(y.shape(), 9).to(DType::bf16);
  y.backward(seed);
  expected.backward(seed.to(DType::f64));
  expect_near(mixed[0].grad(), precise[0].grad(), kRounded, "gradient of x");
  for (std::size_t i = 1; i < mixed.size(); ++i) {
    EXPECT_EQ(mixed[i].grad().dtype(), DType::f32);
    expect_near(mixed[i].grad(), precise[i].grad(), kSummed, "gradient of a weight");
  }
}

TEST(MixedPrecision, Lstm) {
  expect_mixed([](const Variables& v) { return lstm(v[0], v[1]); },
               {random_tensor({4, 3, 20}, 1), random_tensor({5, 20}, 2)}, {false, false});
}

TEST(MixedPrecision, Gru) {
  expect_mixed([](const Variables& v) { return gru(v[0], v[1], v[2]); },
               {random_tensor({4, 3, 15}, 1), random_tensor({5, 15}, 2), random_tensor({15}, 3)},
               {false, false, false});
}

TEST(MixedPrecision, Dense) {
  const std::vector<Tensor> inputs{random_tensor({5, 7}, 1), random_tensor({7, 3}, 2), random_tensor({3}, 3)};
  expect_mixed([](const Variables& v) { return dense(v[0], v[1], v[2]); }, inputs, {true, true, false});
  expect_mixed([](const Variables& v) { return dense(v[0], v[1]); }, {inputs[0], inputs[1]}, {true, true});
}

// As precise as of the same logits in f32.
TEST(MixedPrecision, SoftmaxCrossEntropy) {
  const Tensor logits = random_tensor({4, 3}).to(DType::bf16);
  const Tensor labels =
      Tensor::from<std::int32_t>({4}, std::vector<std::int32_t>{0, 2, 1, 1}, &logits.backend());
  const Variable rounded = Variable::parameter(logits), single = Variable::parameter(logits.to(DType::f32));
  const Variable losses = softmax_cross_entropy(rounded, labels, 0.1),
                 expected = softmax_cross_entropy(single, labels, 0.1);
  EXPECT_EQ(losses.dtype(), DType::f32);
  EXPECT_EQ(losses.value().to_vector<float>(), expected.value().to_vector<float>());
  mean(losses).backward();
  mean(expected).backward();
  EXPECT_EQ(rounded.grad().dtype(), DType::bf16);
  EXPECT_EQ(rounded.grad().to(DType::f32).to_vector<float>(),
            single.grad().to(DType::bf16).to(DType::f32).to_vector<float>());
}

TEST(MixedPrecision, Conv2d) {
  const std::vector<Tensor> inputs{random_tensor({2, 6, 6, 4}, 1), random_tensor({8, 3, 3, 4}, 2),
                                   random_tensor({8}, 3)};
  expect_mixed([](const Variables& v) { return conv2d(v[0], v[1], v[2]); }, inputs, {true, true, false});
  expect_mixed([](const Variables& v) { return conv2d(v[0], v[1], v[2], {.max_pool = Pool2dOptions{}}); },
               inputs, {true, true, false});
}

TEST(MixedPrecision, Conv2dTranspose) {
  const std::vector<Tensor> inputs{random_tensor({2, 4, 4, 4}, 1), random_tensor({4, 3, 3, 8}, 2)};
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu})
    expect_mixed(
        [&](const Variables& v) {
          return conv2d_transpose(v[0], v[1], {}, {.stride = {2, 2}, .epilogue = epilogue});
        },
        inputs, {true, true});
}

TEST(MixedPrecision, BatchNorm) {
  const std::vector<Tensor> inputs{random_tensor({16, 3}, 1), random_tensor({3}, 2), random_tensor({3}, 3)};
  BatchStatistics statistics;
  expect_mixed([&](const Variables& v) { return batch_norm(v[0], v[1], v[2], statistics); }, inputs,
               {true, false, false});
  expect_mixed(
      [](const Variables& v) {
        const TensorOptions like{.dtype = v[1].dtype(), .backend = &v[1].value().backend()};
        return batch_norm_inference(v[0], v[1], v[2],
                                    {Tensor::full({3}, 0.25, like), Tensor::full({3}, 2, like)});
      },
      inputs, {true, false, false});
}

TEST(MixedPrecision, StatisticsAreF32) {
  BatchStatistics statistics;
  // 1/512 is lost beside 1 in bf16.
  const Tensor x = f64_tensor({4, 1}, {1, 1, 1, 1.0078125}).to(DType::bf16);
  batch_norm(x, {}, {}, statistics);
  EXPECT_EQ(statistics.mean.dtype(), DType::f32);
  EXPECT_EQ(statistics.mean.to_vector<double>(), std::vector<double>{1.001953125});
}

TEST(MixedPrecision, OtherMixturesAreRefused) {
  const Tensor x = random_tensor({2, 3}, 1), w = random_tensor({3, 4}, 2);
  for (const auto& of : {std::pair(DType::bf16, DType::f64), std::pair(DType::f32, DType::bf16)})
    EXPECT_NE(
        message_of([&] { dense(x.to(of.first), w.to(of.second)); }).find("[dense] inputs differ in dtype"),
        std::string::npos);
}

TEST(Cast, RoundsAndPassesTheGradientOn) {
  const Variable x = parameter(f64_tensor({3}, {1.00390625, -3.0, 1.01171875}).to(DType::f32));
  const Variable y = cast(x, DType::bf16);
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(y.value().to_vector<double>(), (std::vector<double>{1.0, -3.0, 1.015625}));  // ties to even
  y.backward(f64_tensor({3}, {2, 3, 4}).to(DType::bf16));
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{2, 3, 4}));
  EXPECT_TRUE(cast(x, DType::f32).value().shares_storage_with(x.value()));
  EXPECT_EQ(message_of([&] { cast(x, DType::i32); }),
            "[cast] to i32, which is not a floating dtype; tensor.to(DType::i32) converts values, without a "
            "gradient");
  EXPECT_EQ(message_of([] {
              cast(i32_tensor({1, 2}), DType::bf16);
            }),
            "[cast] expects a floating dtype, got i32 (2,); tensor.to(DType::bf16) converts integers");
}

}  // namespace
}  // namespace ronde::test
