#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

const StepParams kSteps[] = {
    {.learning_rate = 0.01},
    {.learning_rate = 0.1, .grad_scale = 1.0 / 64, .clip_value = 0.01, .weight_decay = 0.02},
};

// States of squares must not be negative.
Tensor state(std::int64_t n, std::uint64_t seed) {
  return random({n}, seed, 0.1, 1);
}

// `run(backend, weights and states, gradients, step)` for all lengths and kinds of steps.
template <class F>
void compare_step(int states, F run) {
  for (const std::int64_t n : {0, 1, 33, 40003})
    for (const StepParams& step : kSteps) {
      SCOPED_TRACE(cat(n));
      Tensors buffers{random({n}, 1)};
      for (int i = 0; i < states; ++i) buffers.push_back(state(n, 10 + static_cast<std::uint64_t>(i)));
      compare(buffers, {random({n}, 2)},
              [&](Backend& b, Tensors out, Tensors in) { run(b, out, in[0], step); }, {.bf16 = 0});
    }
}

TEST(OptimizerStep, Sgd) {
  compare_step(0, [](Backend& b, Tensors& s, Tensor& g, StepParams p) { b.sgd_step(s[0], g, {}, p, {}); });
  for (const bool nesterov : {false, true})
    compare_step(1, [&](Backend& b, Tensors& s, Tensor& g, StepParams p) {
      b.sgd_step(s[0], g, s[1], p, {.momentum = 0.9, .nesterov = nesterov});
    });
}

TEST(OptimizerStep, Rmsprop) {
  for (const bool inside : {false, true})
    for (const bool momentum : {false, true})
      for (const bool centered : {false, true})
        compare_step(3, [&](Backend& b, Tensors& s, Tensor& g, StepParams p) {
          // The mean of gradients stays below the root of the mean of squares.
          if (centered) b.unary(UnaryOp::affine, s[3], s[3], {0.1, 0.0});
          b.rmsprop_step(
              s[0], g, s[1], momentum ? s[2] : Tensor(), centered ? s[3] : Tensor(), p,
              {.momentum = momentum ? 0.9 : 0.0, .centered = centered, .epsilon_inside_sqrt = inside});
        });
}

TEST(OptimizerStep, Adam) {
  for (const bool amsgrad : {false, true})
    compare_step(3, [&](Backend& b, Tensors& s, Tensor& g, StepParams p) {
      b.adam_step(s[0], g, s[1], s[2], amsgrad ? s[3] : Tensor(), p, {.bias_correction = 0.31});
    });
}

TEST(OptimizerStep, AdadeltaAndAdagrad) {
  compare_step(2, [](Backend& b, Tensors& s, Tensor& g, StepParams p) {
    b.adadelta_step(s[0], g, s[1], s[2], p, {});
  });
  compare_step(1,
               [](Backend& b, Tensors& s, Tensor& g, StepParams p) { b.adagrad_step(s[0], g, s[1], p, {}); });
}

// Where a backend keeps weights rounded to bf16, a step writes that copy too.
TEST(OptimizerStep, RoundedCopiesFollow) {
  for (Backend* backend : tested_backends())
    for (const std::int64_t begin : {0, 3, 16})
      for (const std::int64_t count : {1, 8, 33, 1000}) {
        SCOPED_TRACE(cat(backend->name(), ": ", count, " from ", begin));
        const auto values = [&](std::uint64_t seed) {
          return random({1024}, seed, 0.1, 1).to(DType::f32).to(*backend);
        };
        const Tensor w = values(1), g = values(2), a = values(3), v = values(4), u = values(5);
        const auto part = [&](const Tensor& x) { return x.view(begin, {count}); };
        const std::shared_ptr<const void> kept = backend->keep_rounded(w);
        const auto expect_rounded = [&] {
          EXPECT_EQ(backend->rounded(w).to_vector<float>(), w.to(DType::bf16).to_vector<float>());
        };
        expect_rounded();
        backend->sgd_step(part(w), part(g), part(a), kSteps[0], {.momentum = 0.9});
        expect_rounded();
        backend->rmsprop_step(part(w), part(g), part(v), {}, {}, kSteps[1], {});
        expect_rounded();
        backend->adam_step(part(w), part(g), part(a), part(v), {}, kSteps[1], {});
        expect_rounded();
        backend->adadelta_step(part(w), part(g), part(v), part(u), kSteps[0], {});
        expect_rounded();
        backend->adagrad_step(part(w), part(g), part(v), kSteps[0], {});
        expect_rounded();
      }
}

TEST(OptimizerStep, ZeroPaddingStaysZero) {
  for_each_setting([](Backend& b, DType dtype) {
    const auto zeros = [&] { return Tensor::zeros({50}, {.dtype = dtype, .backend = &b}); };
    const Tensor w = zeros();
    b.adam_step(w, zeros(), zeros(), zeros(), {}, kSteps[1], {});
    b.rmsprop_step(w, zeros(), zeros(), {}, {}, kSteps[1], {});
    b.adadelta_step(w, zeros(), zeros(), zeros(), kSteps[1], {});
    b.adagrad_step(w, zeros(), zeros(), kSteps[1], {});
    for (const double v : w.to_vector<double>()) EXPECT_EQ(v, 0.0);
  });
}

}  // namespace
}  // namespace ronde::test
