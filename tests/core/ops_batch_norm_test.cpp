#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/storage.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

constexpr BatchNormParams kBatchNorm{.epsilon = 0.01};

Variable normalised(const Variable& x, const Variable& gamma = {}, const Variable& beta = {}) {
  BatchStatistics statistics;
  return batch_norm(x, gamma, beta, statistics, kBatchNorm);
}

TEST(BatchNorm, ValuesAndStatistics) {
  const Tensor x = f64_tensor({4, 2}, {1, 10, 2, 20, 3, 30, 6, 20});
  BatchStatistics statistics;
  const Variable y = batch_norm(x, f64_tensor({2}, {2, 1}), f64_tensor({2}, {0, 5}), statistics, kBatchNorm);
  expect_close(statistics.mean, {3, 20}, 1e-15, "mean");
  expect_close(statistics.variance, {3.5, 50}, 1e-15, "biased variance");
  const double s0 = 2 / std::sqrt(3.51), s1 = 1 / std::sqrt(50.01);
  expect_close(y.value(), {-2 * s0, 5 - 10 * s1, -s0, 5, 0, 5 + 10 * s1, 3 * s0, 5}, 1e-14, "y");
}

TEST(BatchNorm, Gradients) {
  for (const Shape& shape : {Shape{5, 3}, Shape{2, 3, 2, 2}, Shape{1, 4, 3, 1}}) {
    const Tensor x = random_tensor(shape, 1, -2, 2);
    const Tensor gamma = random_tensor({shape.back()}, 2), beta = random_tensor({shape.back()}, 3);
    expect_gradients([](const Variables& v) { return normalised(v[0], v[1], v[2]); }, {x, gamma, beta});
    expect_gradients([](const Variables& v) { return normalised(v[0], v[1]); }, {x, gamma});
    expect_gradients([](const Variables& v) { return normalised(v[0], {}, v[1]); }, {x, beta});
    expect_gradients([](const Variables& v) { return normalised(v[0]); }, {x});
  }
}

TEST(BatchNorm, WithRelu) {
  const auto f = [](const Variable& x, const Variable& gamma, const Variable& beta) {
    BatchStatistics statistics;
    return batch_norm(x, gamma, beta, statistics, kBatchNorm, {}, {UnaryOp::relu});
  };
  const Tensor gamma = random_tensor({3}, 2, 0.5, 1.5), beta = random_tensor({3}, 3);
  const Variable y = f(f64_tensor({2, 1}, {1, 3}), {}, {});
  expect_close(y.value(), {0, 1 / std::sqrt(1.01)}, 1e-15, "y");
  for (const Shape& shape : {Shape{5, 3}, Shape{2, 3, 2, 3}})
    expect_gradients([&](const Variables& v) { return f(v[0], v[1], v[2]); },
                     {random_tensor(shape, 1, -2, 2), gamma, beta});
  const BatchStatistics moving{f64_tensor({3}, {0.5, -1, 0}), f64_tensor({3}, {4, 0.25, 1})};
  const auto inferred = [&](const Variable& x, const Variable& g, const Variable& b) {
    return batch_norm_inference(x, g, b, moving, kBatchNorm, {UnaryOp::relu});
  };
  const Tensor x = random_tensor({5, 3}, 1, -2, 2);
  expect_gradients([&](const Variables& v) { return inferred(v[0], v[1], v[2]); }, {x, gamma, beta});
  EXPECT_EQ(inferred(x, gamma, beta).value().to_vector<double>(),
            relu(batch_norm_inference(x, gamma, beta, moving, kBatchNorm)).value().to_vector<double>());
}

TEST(BatchNorm, WithOtherActivations) {
  const BatchStatistics moving{f64_tensor({3}, {0.5, -1, 0}), f64_tensor({3}, {4, 0.25, 1})};
  const Tensor gamma = random_tensor({3}, 2, 0.5, 1.5), beta = random_tensor({3}, 3);
  const Tensor x = random_tensor({2, 3, 2, 3}, 1, -2, 2);
  struct Case {
    UnaryStage stage;
    std::function<Variable(const Variable&)> function;
  };
  const Case activations[] = {
      {{UnaryOp::clipped_relu, {.alpha = 0.7}}, [](const Variable& y) { return clamp(y, 0, 0.7); }},
      {{UnaryOp::leaky_relu, {.alpha = 0.2}}, [](const Variable& y) { return leaky_relu(y, 0.2); }},
      {{UnaryOp::silu}, [](const Variable& y) { return y * sigmoid(y); }}};
  for (const Case& activation : activations) {
    const auto trained = [&](const Variables& v) {
      BatchStatistics statistics;
      return batch_norm(v[0], v[1], v[2], statistics, kBatchNorm, {}, activation.stage);
    };
    const auto frozen = [&](const Variables& v) {
      return batch_norm_inference(v[0], v[1], v[2], moving, kBatchNorm, activation.stage);
    };
    expect_gradients(trained, {x, gamma, beta});
    expect_gradients(frozen, {x, gamma, beta});
    EXPECT_EQ(trained({x, gamma, beta}).value().to_vector<double>(),
              activation.function(normalised(x, gamma, beta)).value().to_vector<double>());
    EXPECT_EQ(frozen({x, gamma, beta}).value().to_vector<double>(),
              activation.function(batch_norm_inference(x, gamma, beta, moving, kBatchNorm))
                  .value()
                  .to_vector<double>());
  }
}

TEST(BatchNorm, WithAnAddend) {
  for (const UnaryStage& activation : {UnaryStage(), UnaryStage{UnaryOp::relu}}) {
    const auto f = [&](const Variable& x, const Variable& addend, const Variable& gamma = {},
                       const Variable& beta = {}) {
      BatchStatistics statistics;
      return batch_norm(x, gamma, beta, statistics, kBatchNorm, {}, activation, addend);
    };
    const auto g = [&](const Variable& y) { return activation.changes_nothing() ? y : relu(y); };
    for (const Shape& shape : {Shape{5, 3}, Shape{2, 3, 2, 3}}) {
      const Tensor x = random_tensor(shape, 1, -2, 2), addend = random_tensor(shape, 2, -1, 1);
      const Tensor gamma = random_tensor({3}, 3, 0.5, 1.5), beta = random_tensor({3}, 4);
      EXPECT_EQ(f(x, addend, gamma, beta).value().to_vector<double>(),
                g(normalised(x, gamma, beta) + addend).value().to_vector<double>());
      expect_gradients([&](const Variables& v) { return f(v[0], v[1], v[2], v[3]); },
                       {x, addend, gamma, beta});
      // Not all wanted; one input in both places; a gradient that others see, or that is a view.
      expect_gradients([&](const Variables& v) { return f(v[0], addend, v[1]); }, {x, gamma});
      expect_gradients([&](const Variables& v) { return f(x, v[0]); }, {addend});
      expect_gradients([&](const Variables& v) { return f(v[0], v[0], v[1]); }, {x, gamma});
      expect_gradients([&](const Variables& v) { return f(v[0] * v[0], v[1] * v[1]) + v[1]; }, {x, addend});
      expect_gradients(
          [&](const Variables& v) {
            const Variable y = f(v[0] * 2.0, v[1] * 3.0);
            return y * y + y;
          },
          {x, addend});
      expect_gradients(
          [&](const Variables& v) {
            return permute(f(v[0], v[1]), shape.rank() == 2 ? Shape{1, 0} : Shape{3, 0, 1, 2});
          },
          {x, addend});
    }
  }
}

// As in TensorFlow's relu6: what is at the limit is not below it.
TEST(BatchNorm, NoGradientPassesAReluAtItsLimit) {
  BatchStatistics statistics;
  const Variable beta = Variable::parameter(f64_tensor({1}, {1.5}));
  const Variable y = batch_norm(f64_tensor({2, 1}, {3, 3}), {}, beta, statistics, {}, {},
                                {UnaryOp::clipped_relu, {.alpha = 1.5}});
  sum(y).backward();
  expect_close(beta.grad(), {0}, 0, "gradient");
}

TEST(BatchNorm, InferenceValuesAndGradients) {
  const BatchStatistics moving{f64_tensor({2}, {1, -1}), f64_tensor({2}, {4, 0.25})};
  const auto f = [&](const Variable& x, const Variable& gamma, const Variable& beta) {
    return batch_norm_inference(x, gamma, beta, moving, {.epsilon = 0});
  };
  expect_close(f(f64_tensor({1, 2}, {5, 0}), f64_tensor({2}, {3, 1}), f64_tensor({2}, {0, 7})).value(),
               {6, 9}, 1e-15, "y");
  for (const Shape& shape : {Shape{3, 2}, Shape{2, 2, 3, 2}, Shape{0, 2}}) {
    const Tensor x = random_tensor(shape, 1), gamma = random_tensor({2}, 2), beta = random_tensor({2}, 3);
    expect_gradients([&](const Variables& v) { return f(v[0], v[1], v[2]); }, {x, gamma, beta});
    expect_gradients([&](const Variables& v) { return f(v[0], {}, v[1]); }, {x, beta});
    expect_gradients([&](const Variables& v) { return f(v[0], {}, {}); }, {x});
  }
}

TEST(BatchNorm, InferenceGradientKnowsTheStatisticsOfItsForwardPass) {
  const BatchStatistics moving{f64_tensor({1}, {0}), f64_tensor({1}, {4})};
  Variable x = Variable::parameter(f64_tensor({1, 1}, {3}));
  const Variable y = batch_norm_inference(x, {}, {}, moving, {.epsilon = 0});
  moving.variance.fill(100);
  sum(y).backward();
  expect_close(x.grad(), {0.5}, 1e-15, "1 / sqrt(4)");
}

TEST(BatchNorm, StatisticsMayBeStrided) {
  const auto strided = [](const Tensor& values) {
    const auto storage = std::make_shared<Storage>(values.backend(), 2 * values.byte_size());
    const Tensor view = Tensor::over(storage, values.shape(), {2}, values.dtype());
    Tensor::over(storage, {2 * values.count()}, values.dtype()).fill(77);
    view.copy_from(values);
    return view;
  };
  const Tensor mean = random_tensor({3}, 1), variance = random_tensor({3}, 2, 1, 2);
  const BatchStatistics dense{mean, variance}, spread{strided(mean), strided(variance)};
  const Tensor x = random_tensor({2, 4, 4, 3}, 3), weight = random_tensor({3, 1, 1, 3}, 4);
  const Tensor gamma = random_tensor({3}, 5);
  const auto outputs = [&](const BatchStatistics& statistics) {
    return std::vector<std::vector<double>>{
        batch_norm_inference(x, gamma, {}, statistics).value().to_vector<double>(),
        conv2d_norm(x, {weight, {}}, {{}, {}, statistics}).value().to_vector<double>()};
  };
  EXPECT_EQ(outputs(spread), outputs(dense));
}

TEST(BatchNorm, OfAViewAndAnEmptyBatch) {
  expect_gradients(
      [](const Variables& v) {
        return normalised(permute(v[0], {1, 0}), v[1]);
      },
      {random_tensor({3, 4}, 1), random_tensor({3}, 2)});
  Variable x = Variable::parameter(random_tensor({0, 3})), gamma = Variable::parameter(random_tensor({3}));
  sum(normalised(x, gamma)).backward();
  EXPECT_EQ(x.grad().shape(), (Shape{0, 3}));
  expect_close(gamma.grad(), {0, 0, 0}, 0, "gamma");
}

TEST(BatchNorm, SaysWhatDoesNotFit) {
  const Tensor x = random_tensor({4, 3});
  EXPECT_EQ(message_of([&] { normalised(x, random_tensor({4})); }),
            "[batch_norm] gamma must be (3,) for an input of shape (4, 3), got shape (4,)");
  EXPECT_EQ(message_of([&] {
              batch_norm_inference(x, {}, {}, {random_tensor({3}), random_tensor({2})});
            }),
            "[batch_norm] variance must be (3,) for an input of shape (4, 3), got shape (2,)");
  EXPECT_EQ(message_of([&] { normalised(random_tensor({3})); }),
            "[batch_norm] input must be (n, ..., c), got shape (3,)");
  const auto plus = [&](const Tensor& addend, UnaryStage activation) {
    BatchStatistics statistics;
    batch_norm(x, {}, {}, statistics, kBatchNorm, {}, activation, addend);
  };
  EXPECT_EQ(message_of([&] {
              plus(random_tensor({1, 3}), {});
            }),
            "[batch_norm] addend must have the input's shape (4, 3), got shape (1, 3)");
  EXPECT_EQ(message_of([&] { plus(x, {UnaryOp::silu}); }),
            "[batch_norm] behind an addend there can be a relu or no activation");
}

}  // namespace
}  // namespace ronde::test
