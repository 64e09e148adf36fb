// lstm and gru against their formulas, one value after the other in double, and finite differences.
#include <cmath>

#include <gtest/gtest.h>

#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

/// The states (steps, n, units) of x (steps, n, 4 * units), its last step first if backwards.
std::vector<double> naive_lstm(const Tensor& inputs, const Tensor& weight, const Tensor& mask,
                               bool backwards) {
  const std::vector<double> x = inputs.to_vector<double>(), w = weight.to_vector<double>();
  const std::vector<double> counts = mask.to_vector<double>();
  const std::int64_t steps = inputs.size(0), n = inputs.size(1), units = weight.size(0);
  std::vector<double> states(static_cast<std::size_t>(steps * n * units));
  for (std::int64_t row = 0; row < n; ++row) {
    std::vector<double> h(static_cast<std::size_t>(units)), c = h;
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t t = backwards ? steps - 1 - step : step;
      const std::vector<double> before = h;
      for (std::int64_t u = 0; u < units; ++u) {
        double gate[4];
        for (std::int64_t g = 0; g < 4; ++g) {
          gate[g] = x[static_cast<std::size_t>((t * n + row) * 4 * units + g * units + u)];
          for (std::int64_t k = 0; k < units; ++k)
            gate[g] += before[static_cast<std::size_t>(k)] *
                       w[static_cast<std::size_t>(k * 4 * units + g * units + u)];
        }
        const auto at = static_cast<std::size_t>(u);
        states[static_cast<std::size_t>((t * n + row) * units + u)] = h[at];
        if (counts[static_cast<std::size_t>(t * n + row)] == 0) continue;
        c[at] = sigmoid_of(gate[1]) * c[at] + sigmoid_of(gate[0]) * std::tanh(gate[2]);
        h[at] = sigmoid_of(gate[3]) * std::tanh(c[at]);
        states[static_cast<std::size_t>((t * n + row) * units + u)] = h[at];
      }
    }
  }
  return states;
}

/// (4, 3), with zeros at the first step, at the last one, and at two between.
Tensor mask_of_four() {
  return Tensor::from<float>({4, 3}, {1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1});
}

TEST(Lstm, GivesWhatItsFormulaSays) {
  const Tensor x = random_tensor({4, 3, 20}, 1), weight = random_tensor({5, 20}, 2);
  for (const bool backwards : {false, true}) {
    const char* what = backwards ? "backwards" : "forwards";
    expect_close(lstm(x, weight, {}, {.backwards = backwards}).value(),
                 naive_lstm(x, weight, Tensor::full({4, 3}, 1.0), backwards), 1e-14, what);
    expect_close(lstm(x, weight, mask_of_four(), {.backwards = backwards}).value(),
                 naive_lstm(x, weight, mask_of_four(), backwards), 1e-14, what);
  }
}

TEST(Lstm, Gradients) {
  for (const std::int64_t steps : {1, 4})
    for (const bool backwards : {false, true})
      expect_gradients([=](const Variables& v) { return lstm(v[0], v[1], {}, {.backwards = backwards}); },
                       {random_tensor({steps, 2, 12}, 1), random_tensor({3, 12}, 2)});
  for (const bool backwards : {false, true})
    expect_gradients(
        [=](const Variables& v) { return lstm(v[0], v[1], mask_of_four(), {.backwards = backwards}); },
        {random_tensor({4, 3, 12}, 1), random_tensor({3, 12}, 2)});
}

TEST(Lstm, SaysWhatDoesNotFit) {
  EXPECT_EQ(message_of([] {
              lstm(random_tensor({2, 3, 8}), random_tensor({3, 12}));
            }),
            "[lstm] x (steps, n, 4 * units) and recurrent_kernel (units, 4 * units) do not fit, got shapes "
            "(2, 3, 8) and (3, 12)");
  EXPECT_EQ(message_of([] {
              lstm(random_tensor({0, 3, 8}), random_tensor({2, 8}));
            }),
            "[lstm] x has no steps, got shape (0, 3, 8)");
  EXPECT_EQ(message_of([] {
              lstm(random_tensor({4, 2, 8}), random_tensor({2, 8}), mask_of_four());
            }).substr(0, 66),
            "[lstm] x of shape (4, 2, 8) needs a mask of shape (4, 2), got f32 ");
}

/// The states (steps, n, units) of x (steps, n, 3 * units), forwards.
std::vector<double> naive_gru(const Tensor& inputs, const Tensor& weight, const Tensor& bias,
                              const Tensor& mask) {
  const std::vector<double> x = inputs.to_vector<double>(), w = weight.to_vector<double>();
  const std::vector<double> b = bias.to_vector<double>(), counts = mask.to_vector<double>();
  const std::int64_t steps = inputs.size(0), n = inputs.size(1), units = weight.size(0);
  std::vector<double> states(static_cast<std::size_t>(steps * n * units));
  for (std::int64_t row = 0; row < n; ++row) {
    std::vector<double> h(static_cast<std::size_t>(units));
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::vector<double> before = h;
      for (std::int64_t u = 0; u < units; ++u) {
        double of_x[3], of_state[3];
        for (std::int64_t g = 0; g < 3; ++g) {
          of_x[g] = x[static_cast<std::size_t>((t * n + row) * 3 * units + g * units + u)];
          of_state[g] = b[static_cast<std::size_t>(g * units + u)];
          for (std::int64_t k = 0; k < units; ++k)
            of_state[g] += before[static_cast<std::size_t>(k)] *
                           w[static_cast<std::size_t>(k * 3 * units + g * units + u)];
        }
        const double update = sigmoid_of(of_x[0] + of_state[0]), reset = sigmoid_of(of_x[1] + of_state[1]);
        double& state = h[static_cast<std::size_t>(u)];
        if (counts[static_cast<std::size_t>(t * n + row)] != 0)
          state = update * state + (1 - update) * std::tanh(of_x[2] + reset * of_state[2]);
        states[static_cast<std::size_t>((t * n + row) * units + u)] = state;
      }
    }
  }
  return states;
}

TEST(Gru, GivesWhatItsFormulaSays) {
  const Tensor x = random_tensor({4, 3, 15}, 1), weight = random_tensor({5, 15}, 2),
               bias = random_tensor({15}, 3);
  const Tensor all = Tensor::full({4, 3}, 1.0);
  expect_close(gru(x, weight, bias).value(), naive_gru(x, weight, bias, all), 1e-14, "all steps");
  expect_close(gru(x, weight).value(), naive_gru(x, weight, Tensor::zeros({15}), all), 1e-14, "no bias");
  expect_close(gru(x, weight, bias, mask_of_four()).value(), naive_gru(x, weight, bias, mask_of_four()),
               1e-14, "masked");
}

TEST(Gru, BackwardsIsForwardsOfTurnedSteps) {
  const Tensor x = random_tensor({3, 2, 15}, 1), weight = random_tensor({5, 15}, 2);
  const auto step = [](const Tensor& t, std::int64_t i) { return t.slice(0, i, i + 1); };
  const Tensor turned = concat({step(x, 2), step(x, 1), step(x, 0)}, 0).value();
  const Tensor backwards = gru(x, weight, {}, {}, {.backwards = true}).value();
  const Tensor forwards = gru(turned, weight).value();
  for (std::int64_t t = 0; t < 3; ++t)
    EXPECT_EQ(step(backwards, t).to_vector<double>(), step(forwards, 2 - t).to_vector<double>());
}

TEST(Gru, Gradients) {
  const std::vector<Tensor> inputs{random_tensor({4, 3, 9}, 1), random_tensor({3, 9}, 2),
                                   random_tensor({9}, 3)};
  for (const bool backwards : {false, true}) {
    expect_gradients([=](const Variables& v) { return gru(v[0], v[1], v[2], {}, {.backwards = backwards}); },
                     inputs);
    expect_gradients(
        [=](const Variables& v) { return gru(v[0], v[1], v[2], mask_of_four(), {.backwards = backwards}); },
        inputs);
  }
  expect_gradients([](const Variables& v) { return gru(v[0], v[1]); },
                   {random_tensor({1, 2, 9}, 1), random_tensor({3, 9}, 2)});
}

TEST(Gru, SaysWhatDoesNotFit) {
  EXPECT_EQ(message_of([] {
              gru(random_tensor({2, 3, 8}), random_tensor({3, 9}));
            }),
            "[gru] x (steps, n, 3 * units) and recurrent_kernel (units, 3 * units) do not fit, got shapes "
            "(2, 3, 8) and (3, 9)");
  EXPECT_EQ(message_of([] {
              gru(random_tensor({2, 3, 9}), random_tensor({3, 9}), random_tensor({3}));
            }).substr(0, 58),
            "[gru] expects a recurrent_bias of shape (9,), got f64 (3,)");
}

}  // namespace
}  // namespace ronde::test
