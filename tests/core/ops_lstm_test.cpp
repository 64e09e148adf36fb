// lstm against its formula, one value after the other in double, and finite differences.
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

}  // namespace
}  // namespace ronde::test
