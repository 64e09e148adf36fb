// Losses of outputs with a mask against the sums that they stand for. What Keras makes of them is compared in
// tests/models/keras_file/attention_test.cpp.
#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/regression_loss.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

/// Of three samples of four steps; six steps count.
Tensor mask_of_six() {
  return Tensor::from<float>({3, 4}, {1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1}, &backend("cpu"));
}

Variable masked(Variable output, const Tensor& mask = mask_of_six()) {
  output.set_mask(mask);
  return output;
}

/// The loss of each step by itself, (12), and so of an output that has no mask.
std::vector<double> losses_of_steps(const Loss& loss, const Tensor& output, const Tensor& target) {
  std::vector<double> losses;
  for (std::int64_t i = 0; i < 12; ++i) {
    const auto step_of = [i](const Tensor& x) {
      return x.reshape(x.shape().steps_as_batch()).slice(0, i, i + 1);
    };
    losses.push_back(losses_of_samples(loss, step_of(output), step_of(target)).value().item());
  }
  return losses;
}

void expect_mean_over_steps(const Loss& loss, const Tensor& output, const Tensor& target) {
  SCOPED_TRACE(loss.name());
  const std::vector<double> steps = losses_of_steps(loss, output, target);
  const std::vector<float> counts = mask_of_six().to_vector<float>();
  std::vector<double> expected(3);
  for (std::size_t i = 0; i < 12; ++i) expected[i / 4] += counts[i] * steps[i] * 3 / 6;
  expect_close(losses_of_samples(loss, masked(output), target).value(), expected, 1e-13, "losses");
  expect_gradients([&](const Variables& v) { return losses_of_samples(loss, masked(v[0] * 1.0), target); },
                   {output});
}

TEST(MaskedLosses, AreMeansOverTheStepsThatCount) {
  const Tensor logits = random_tensor({3, 4, 5}, 2);
  const Tensor labels =
      Tensor::from<std::int32_t>({3, 4}, {0, 4, 2, 1, 3, 3, 0, 2, 1, 0, 4, 4}, &backend("cpu"));
  expect_mean_over_steps(SparseCategoricalCrossentropy({.from_logits = true}), logits, labels);
  expect_mean_over_steps(MeanSquaredError(), logits, random_tensor({3, 4, 5}, 3));
  expect_mean_over_steps(BinaryCrossentropy({.from_logits = true, .label_smoothing = 0.1}),
                         random_tensor({3, 4, 1}, 2), random_tensor({3, 4}, 3, 0.0, 1.0));
  // Several positions in each step.
  expect_mean_over_steps(MeanAbsoluteError(), random_tensor({3, 4, 2, 5}, 2), random_tensor({3, 4, 2, 5}, 3));
}

TEST(MaskedLosses, FindTheLogitsOfProbabilities) {
  const Tensor logits = random_tensor({3, 4, 5}, 2, -400, 400);
  const Tensor labels = Tensor::zeros({3, 4}, {.dtype = DType::i32, .backend = &backend("cpu")});
  const Variable of_logits =
      losses_of_samples(SparseCategoricalCrossentropy({.from_logits = true}), masked(logits), labels);
  EXPECT_GT(max(of_logits).value().item(), 100);
  expect_close(losses_of_samples(SparseCategoricalCrossentropy(), masked(softmax(logits)), labels).value(),
               of_logits.value().to_vector<double>(), 1e-10, "of a softmax");
  const Tensor targets = Tensor::zeros({3, 4, 5}, logits.options());
  expect_close(losses_of_samples(BinaryCrossentropy(), masked(sigmoid(logits)), targets).value(),
               losses_of_samples(BinaryCrossentropy({.from_logits = true}), masked(logits), targets)
                   .value()
                   .to_vector<double>(),
               1e-10, "of a sigmoid");
}

TEST(MaskedLosses, CountTheStepsOfAllRanks) {
  const Tensor output = random_tensor({3, 4, 5}, 2), target = random_tensor({3, 4, 5}, 3);
  // Another rank has a sample of two steps that count, a third one none.
  const SumOverRanks sum = [](const Tensor& counts) {
    EXPECT_EQ(counts.to_vector<double>(), (std::vector<double>{3, 6}));
    counts.data<double>()[0] += 1;
    counts.data<double>()[1] += 2;
  };
  const Tensor alone = losses_of_samples(MeanSquaredError(), masked(output), target).value();
  const Variable ranks = losses_of_samples(MeanSquaredError(), masked(output), target, sum);
  expect_close(ranks.value(), (Variable(alone) * (4.0 / 8 / (3.0 / 6))).value().to_vector<double>(), 1e-14,
               "ranks");
}

TEST(MaskedLosses, AreZeroWhereNoStepCounts) {
  const Tensor output = random_tensor({3, 4, 5}, 2),
               none = Tensor::zeros({3, 4}, {.backend = &backend("cpu")});
  EXPECT_EQ(losses_of_samples(MeanSquaredError(), masked(output, none), random_tensor({3, 4, 5}, 3))
                .value()
                .to_vector<double>(),
            std::vector<double>(3));
  const Tensor no_samples = Tensor::zeros({0, 4, 5}, output.options());
  const Tensor mask = Tensor::zeros({0, 4}, {.backend = &backend("cpu")});
  EXPECT_EQ(losses_of_samples(MeanSquaredError(), masked(no_samples, mask), no_samples).shape(), Shape{0});
}

TEST(MaskedLosses, KnowTheirShapes) {
  const Tensor output = random_tensor({3, 4, 5}, 2);
  EXPECT_EQ(message_of([&] {
              losses_of_samples(MeanSquaredError(), masked(output.reshape({12, 5})), output);
            }),
            "[mean_squared_error] expects a mask (n, steps) beside outputs (n, steps, ..., k), got (3, 4) "
            "and (12, 5)");
  EXPECT_EQ(message_of([&] {
              losses_of_samples(MeanSquaredError(), masked(output), output.reshape({3, 20}));
            }),
            "[mean_squared_error] expects targets for 4 steps of 3 samples, got (3, 20)");
}

}  // namespace
}  // namespace ronde::test
