// Optimizer steps against the formulas of Keras, written out one weight at a time.
#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kCount = 23;
constexpr int kUpdates = 4;

// One weight and its two or three states.
struct Weight {
  double w, a = 0, b = 0, c = 0;
};

struct StepCase {
  const char* name;
  StepParams step;
  double initial_state = 0;
};

const StepCase kSteps[] = {
    {"plain", {.learning_rate = 0.1}},
    {"scaled", {.learning_rate = 0.1, .grad_scale = 0.25}},
    {"clipped after scaling", {.learning_rate = 0.1, .grad_scale = 0.5, .clip_value = 0.2}},
    {"decayed", {.learning_rate = 0.1, .weight_decay = 0.05}},
};

// Runs `kernel(w, g, a, b, c, step number)` and `formula(weight, gradient, step number)` side by side.
template <class Kernel, class Formula>
void compare(double initial_state, Kernel&& kernel, Formula&& formula) {
  CpuBackend cpu;
  for (const StepCase& c : kSteps)
    for_each_real([&](DType dtype) {
      SCOPED_TRACE(c.name);
      const Tensor w = random_tensor(cpu, {kCount}, dtype, 1);
      const TensorOptions options = w.options();
      const Tensor a = Tensor::full({kCount}, initial_state, options);
      const Tensor b = Tensor::full({kCount}, initial_state, options),
                   d = Tensor::full({kCount}, initial_state, options);
      std::vector<Weight> expected;
      for (const double v : w.to_vector<double>())
        expected.push_back({v, initial_state, initial_state, initial_state});
      for (int t = 1; t <= kUpdates; ++t) {
        const Tensor g = random_tensor(cpu, {kCount}, dtype, static_cast<std::uint64_t>(10 + t));
        kernel(cpu, w, g, a, b, d, c.step, t);
        const Values gradients = g.to_vector<double>();
        for (std::size_t i = 0; i < expected.size(); ++i) {
          double gradient = gradients[i] * c.step.grad_scale;
          if (c.step.clip_value > 0)
            gradient = std::fmin(std::fmax(gradient, -c.step.clip_value), c.step.clip_value);
          expected[i].w *= 1 - c.step.learning_rate * c.step.weight_decay;
          formula(expected[i], gradient, c.step.learning_rate, t);
        }
      }
      Values weights, first;
      for (const Weight& each : expected) weights.push_back(each.w), first.push_back(each.a);
      expect_close(w, weights);
      expect_close(a, first);
    });
}

TEST(CpuOptimizers, Sgd) {
  compare(
      0,
      [](Backend& cpu, auto& w, auto& g, auto&, auto&, auto&, StepParams step, int) {
        cpu.sgd_step(w, g, {}, step, {});
      },
      [](Weight& x, double g, double lr, int) { x.w -= lr * g; });
}

TEST(CpuOptimizers, SgdWithMomentum) {
  for (const bool nesterov : {false, true})
    compare(
        0,
        [&](Backend& cpu, auto& w, auto& g, auto& a, auto&, auto&, StepParams step, int) {
          cpu.sgd_step(w, g, a, step, {.momentum = 0.9, .nesterov = nesterov});
        },
        [&](Weight& x, double g, double lr, int) {
          x.a = 0.9 * x.a - lr * g;
          x.w += nesterov ? 0.9 * x.a - lr * g : x.a;
        });
}

TEST(CpuOptimizers, Rmsprop) {
  for (const bool centered : {false, true})
    for (const bool inside : {false, true})
      for (const double mu : {0.0, 0.9})
        compare(
            0,
            [&](Backend& cpu, auto& w, auto& g, auto& a, auto& b, auto& c, StepParams step, int) {
              cpu.rmsprop_step(w, g, a, mu > 0 ? b : Tensor(), centered ? c : Tensor(), step,
                               {.rho = 0.8,
                                .momentum = mu,
                                .epsilon = 1e-3,
                                .centered = centered,
                                .epsilon_inside_sqrt = inside});
            },
            [&](Weight& x, double g, double lr, int) {
              x.a = 0.8 * x.a + 0.2 * g * g;
              x.c = 0.8 * x.c + 0.2 * g;
              const double power = centered ? x.a - x.c * x.c : x.a;
              const double root = inside ? std::sqrt(power + 1e-3) : std::sqrt(power) + 1e-3;
              x.b = mu * x.b + lr * g / root;
              x.w -= x.b;
            });
}

// With a constant gradient mean and power come as near as rounding lets them, on both sides.
TEST(CpuOptimizers, CenteredRmspropSurvivesAPowerThatRoundingMakesNegative) {
  CpuBackend cpu;
  for_each_real([&](DType dtype) {
    constexpr std::int64_t kWeights = 64;
    Values gradients;
    for (std::int64_t i = 1; i <= kWeights; ++i) gradients.push_back(1.0 / static_cast<double>(i));
    const Tensor g = Tensor::from<double>({kWeights}, gradients, &cpu).to(dtype);
    const Tensor w = Tensor::zeros({kWeights}, g.options()), power = w.clone(), mean = w.clone();
    for (int i = 0; i < 400; ++i)
      cpu.rmsprop_step(w, g, power, {}, mean, {.learning_rate = 0.1},
                       {.rho = 0.8, .epsilon = 1e-3, .centered = true, .epsilon_inside_sqrt = false});
    for (const double weight : w.to_vector<double>()) EXPECT_LT(weight, 0.0);
  });
}

TEST(CpuOptimizers, Adam) {
  for (const bool amsgrad : {false, true})
    compare(
        0,
        [&](Backend& cpu, auto& w, auto& g, auto& a, auto& b, auto& c, StepParams step, int t) {
          const double correction = std::sqrt(1 - std::pow(0.99, t)) / (1 - std::pow(0.8, t));
          cpu.adam_step(w, g, a, b, amsgrad ? c : Tensor(), step,
                        {.beta_1 = 0.8, .beta_2 = 0.99, .epsilon = 1e-4, .bias_correction = correction});
        },
        [&](Weight& x, double g, double lr, int t) {
          x.a = 0.8 * x.a + 0.2 * g;
          x.b = 0.99 * x.b + 0.01 * g * g;
          x.c = std::max(x.c, x.b);
          const double rate = lr * std::sqrt(1 - std::pow(0.99, t)) / (1 - std::pow(0.8, t));
          x.w -= rate * x.a / (std::sqrt(amsgrad ? x.c : x.b) + 1e-4);
        });
}

TEST(CpuOptimizers, AmsgradRemembersTheLargestVelocity) {
  CpuBackend cpu;
  const auto one = [&](double v) { return tensor(cpu, {1}, {v}); };
  const Tensor w = one(0), m = one(0), v = one(4), largest = one(9);
  cpu.adam_step(w, one(0.5), m, v, largest, {.learning_rate = 1}, {.beta_1 = 0, .beta_2 = 1, .epsilon = 0});
  EXPECT_NEAR(w.item(), -0.5 / 3, 1e-15);
  EXPECT_EQ(largest.item(), 9);
}

TEST(CpuOptimizers, Adadelta) {
  compare(
      0,
      [](Backend& cpu, auto& w, auto& g, auto& a, auto& b, auto&, StepParams step, int) {
        cpu.adadelta_step(w, g, a, b, step, {.rho = 0.9, .epsilon = 1e-3});
      },
      [](Weight& x, double g, double lr, int) {
        x.a = 0.9 * x.a + 0.1 * g * g;
        const double delta = -g * std::sqrt((x.b + 1e-3) / (x.a + 1e-3));
        x.b = 0.9 * x.b + 0.1 * delta * delta;
        x.w += lr * delta;
      });
}

TEST(CpuOptimizers, Adagrad) {
  compare(
      0.1,
      [](Backend& cpu, auto& w, auto& g, auto& a, auto&, auto&, StepParams step, int) {
        cpu.adagrad_step(w, g, a, step, {.epsilon = 1e-3});
      },
      [](Weight& x, double g, double lr, int) {
        x.a += g * g;
        x.w -= lr * g / std::sqrt(x.a + 1e-3);
      });
}

TEST(CpuOptimizers, PaddingStaysZeroAndNanIsNotClippedAway) {
  CpuBackend cpu;
  const Tensor zero = Tensor::zeros({3}, {.backend = &cpu});
  const auto state = [&] { return Tensor::zeros({3}, {.backend = &cpu}); };
  const StepParams step{.learning_rate = 0.1, .clip_value = 1, .weight_decay = 0.1};
  const auto run_all = [&](const Tensor& w, const Tensor& g) {
    cpu.sgd_step(w, g, state(), step, {.momentum = 0.9});
    cpu.rmsprop_step(w, g, state(), state(), state(), step, {.epsilon_inside_sqrt = false});
    cpu.adam_step(w, g, state(), state(), state(), step, {});
    cpu.adadelta_step(w, g, state(), state(), step, {});
    cpu.adagrad_step(w, g, state(), step, {});
  };
  const Tensor w = state();
  run_all(w, zero);
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{0, 0, 0}));
  cpu.sgd_step(w, Tensor::full({3}, std::nan(""), {.backend = &cpu}), {}, step, {});
  EXPECT_TRUE(std::isnan(w.to_vector<float>()[0]));
}

}  // namespace
}  // namespace ronde::test
