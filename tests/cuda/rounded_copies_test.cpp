// The copies of weights in bf16: one for a buffer, true whatever happens to the weights.
#include <algorithm>
#include <cmath>

#include <ronde/core/cuda.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/parameter_arena.h>

#include "cuda/captured_step.h"
#include "cuda/fake_device.h"

namespace ronde::test {
namespace {

using cuda::Op;

constexpr StepParams kStep{.learning_rate = 0.25, .weight_decay = 0.125};

/// Weights that are kept rounded, on a device that notes what it is given.
struct KeptWeights {
  std::vector<Op> ops;
  FakeDevice device{FakeOptions{.on_launch = [this](const cuda::Call& call) { ops.push_back(call.op); }}};
  Backend& backend = device.backend;
  Tensor flat = random_tensor(backend, {64}, DType::f32, 1);
  std::shared_ptr<const void> kept = backend.keep_rounded(flat);
  Tensor weight = flat.view(16, {4, 8});

  std::int64_t copies() const { return std::count(ops.begin(), ops.end(), Op::copy); }
  Tensor gradients() { return random_tensor(backend, {64}, DType::f32, 2); }
  void sgd(const Tensor& w, const Tensor& g) { backend.sgd_step(w, g, {}, {.learning_rate = 0.3}, {}); }

  void expect_true() {
    EXPECT_EQ(backend.rounded(weight).to_vector<float>(), weight.to(DType::bf16).to_vector<float>());
    const Tensor last = flat.view(63, {1});
    EXPECT_EQ(backend.rounded(last).to_vector<float>(), last.to(DType::bf16).to_vector<float>());
  }
};

TEST(RoundedCopies, OneKernelRoundsAllWeightsOnce) {
  KeptWeights w;
  w.ops.clear();
  const Tensor first = w.backend.rounded(w.flat.view(0, {16})), second = w.backend.rounded(w.weight);
  EXPECT_EQ(w.ops, std::vector<Op>{Op::copy});
  EXPECT_TRUE(first.shares_storage_with(second));
  EXPECT_EQ(second.shape(), w.weight.shape());
  w.expect_true();
}

// The first time the copy is none yet.
TEST(RoundedCopies, AStepBehindAClosedGateMakesThemTrueAndNothingElse) {
  KeptWeights w;
  const Values before = w.flat.to_vector<double>();
  const Tensor gate = Tensor::full({}, NAN, {.dtype = DType::f64, .backend = &w.backend});
  for (const double value : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    gate.fill(value);
    const GatedUpdates gated(gate);
    w.sgd(w.flat, w.gradients());
    w.expect_true();
    EXPECT_EQ(w.flat.to_vector<double>(), before);
  }
  {
    gate.fill(1e300);
    const GatedUpdates gated(gate);
    w.sgd(w.flat, w.gradients());
    w.expect_true();
    EXPECT_NE(w.flat.to_vector<double>(), before);
  }
  gate.fill(NAN);
  w.sgd(w.flat, w.gradients());
  EXPECT_NE(w.flat.to_vector<double>(), before);
}

TEST(GatedUpdates, LeaveOutSumsAndCountsToo) {
  FakeDevice device;
  Backend& backend = device.backend;
  const Tensor gate = Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend});
  const Tensor loss = Tensor::full({}, 2.0, {.backend = &backend}),
               ones = Tensor::full({7}, 1.0, {.backend = &backend});
  const Tensor scores = Tensor::full({3, 2}, 1.0, {.backend = &backend});
  const Tensor labels = Tensor::from<std::int32_t>({3}, {0, 1, 0}, &backend);
  for (const bool is_open : {true, false}) {
    const Tensor sum = Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend}),
                 sums = Tensor::zeros({7}, ones.options());
    const Tensor count = Tensor::zeros({}, {.dtype = DType::i64, .backend = &backend});
    gate.fill(is_open ? -5.0 : -INFINITY);
    const GatedUpdates gated(gate);
    backend.accumulate(sum, loss, 1.0);
    backend.accumulate(sums, ones, 3.0);
    backend.count_correct(count, scores, labels);
    EXPECT_EQ(sum.item(), is_open ? 2.0 : 0.0);
    EXPECT_EQ(sums.to_vector<float>(), std::vector<float>(7, is_open ? 3.0f : 0.0f));
    EXPECT_EQ(count.item(), is_open ? 2.0 : 0.0);
  }
  expect_error([] { GatedUpdates(Tensor::zeros({}, {.dtype = DType::f64})); }, "a scalar of f64 on a GPU");
}

TEST(RoundedCopies, AStepWritesThemToo) {
  using Step = void (*)(Backend&, const Tensor& w, const Tensor& g, const Tensor& a, const Tensor& b);
  for (const Step step : {Step{[](Backend&o, const Tensor&w, const Tensor&g, const Tensor&a, const Tensor&) {
                            o.sgd_step(w, g, a, kStep, {.momentum = 0.5});
                          }},
                          Step{[](Backend&o, const Tensor&w, const Tensor&g, const Tensor&a, const Tensor&) {
                            o.rmsprop_step(w, g, a, {}, {}, kStep, {});
                          }},
                          Step{[](Backend&o, const Tensor&w, const Tensor&g, const Tensor&a, const Tensor&b) {
                            o.adam_step(w, g, a, b, {}, kStep, {});
                          }},
                          Step{[](Backend&o, const Tensor&w, const Tensor&g, const Tensor&a, const Tensor&b) {
                            o.adadelta_step(w, g, a, b, kStep, {});
                          }},
                          Step{[](Backend&o, const Tensor&w, const Tensor&g, const Tensor&a, const Tensor&) {
                            o.adagrad_step(w, g, a, kStep, {});
                          }}}) {
    KeptWeights w;
    const Tensor a = filled(w.backend, {64}, 0.5), b = filled(w.backend, {64}, 0.5), g = w.gradients();
    const std::vector<float> before = w.backend.rounded(w.weight).to_vector<float>();
    w.ops.clear();
    step(w.backend, w.flat, g, a, b);
    const Tensor after = w.backend.rounded(w.weight);
    EXPECT_EQ(w.ops.size(), 1u);
    EXPECT_NE(after.to_vector<float>(), before);
    w.expect_true();
  }
}

TEST(RoundedCopies, AStepOfAPartWritesThatPart) {
  KeptWeights w;
  w.expect_true();
  const Tensor g = w.gradients();
  w.ops.clear();
  w.sgd(w.flat.view(32, {32}), g.view(32, {32}));
  w.backend.rounded(w.weight);
  EXPECT_EQ(w.ops, std::vector<Op>{Op::sgd_step});
  w.expect_true();
}

// Nobody has wanted them yet, or they are not true: then a step leaves them alone.
TEST(RoundedCopies, AStepDoesNotMakeThemTrue) {
  KeptWeights w;
  w.sgd(w.flat, w.gradients());
  w.expect_true();
  w.flat.view(0, {32}).fill(0.7);
  w.sgd(w.flat, w.gradients());
  w.expect_true();
}

TEST(RoundedCopies, WhateverElseIsWrittenIsSeen) {
  const std::vector<std::function<void(KeptWeights&)>> writers{
      [](KeptWeights& w) { w.flat.fill(0.3); },
      [](KeptWeights& w) { w.weight.slice(1, 2, 3).fill(0.3); },
      [](KeptWeights& w) { w.flat.view(63, {1}).fill(0.3); },
      [](KeptWeights& w) { w.flat.copy_from(random_tensor(backend("cpu"), {64}, DType::f32, 3)); },
      [](KeptWeights& w) {
        w.weight.copy_from(random_tensor(w.backend, {4, 8}, DType::f64, 4));
      },
      [](KeptWeights& w) {
        w.backend.unary(UnaryOp::affine, w.weight, w.weight, {.alpha = 0.9, .beta = 0.0});
      },
      [](KeptWeights& w) {
        w.backend.accumulate(w.weight, filled(w.backend, {4, 8}, 1.0), 0.1);
      },
      [](KeptWeights& w) {
        Variable(w.weight).assign(filled(w.backend, {4, 8}, 0.3));
      },
      [](KeptWeights& w) {
        Variable(random_tensor(w.backend, {4, 8}, DType::f32, 5)).bind(w.weight, {});
      },
      [](KeptWeights& w) {
        const Tensor x = random_tensor(w.backend, {3, 4}, DType::f32, 6);
        w.backend.matmul(w.weight, x, random_tensor(w.backend, {3, 8}, DType::f32, 7), {.transpose_a = true});
      },
      [](KeptWeights& w) {  // by float copies of bf16 factors that a library refuses, or as they are
        const Tensor x = random_tensor(w.backend, {3, 4}, DType::f32, 6).to(DType::bf16);
        const Tensor y = random_tensor(w.backend, {3, 8}, DType::f32, 7).to(DType::bf16);
        w.backend.matmul(w.weight, x, y, {.transpose_a = true});
      }};
  for (const auto& write : writers) {
    KeptWeights w;
    w.expect_true();
    const std::vector<float> before = w.flat.to_vector<float>();
    write(w);
    ASSERT_NE(w.flat.to_vector<float>(), before);
    w.expect_true();
  }
}

// In the graph: a product of the rounded weight. Outside of it: what changes the weight.
struct CapturedProduct {
  KeptWeights w;
  Tensor x = random_tensor(w.backend, {2, 4}, DType::f32, 8).to(DType::bf16);
  Tensor y = unwritten(w.backend, {2, 8}, DType::bf16), g = w.gradients();
  std::function<void()> after = [] {};
  std::unique_ptr<cuda::CapturedStep> step = std::make_unique<cuda::CapturedStep>(w.device.backend);

  void run() {
    step->run([&] {
      w.backend.matmul(y, x, w.backend.rounded(w.weight), {});
      after();
    });
  }
  std::vector<float> expected() {
    const Tensor out = unwritten(w.backend, y.shape(), DType::bf16);
    w.backend.matmul(out, x, w.weight.to(DType::bf16), {});
    return out.to_vector<float>();
  }
};

TEST(RoundedCopies, AGraphHasNothingToRoundAndSeesWhatIsWrittenBetween) {
  CapturedProduct p;
  for (int i = 0; i < 9; ++i) {
    if (i % 3 == 0) p.w.flat.fill(0.1 * i);
    if (i % 3 == 1) p.w.sgd(p.w.flat, p.g);
    const std::vector<float> expected = p.expected();
    const std::int64_t before = p.w.copies();
    p.run();
    EXPECT_EQ(p.w.copies() - before, i % 3 == 0 ? 1 : 0);
    EXPECT_EQ(p.y.to_vector<float>(), expected) << i;
    EXPECT_EQ(p.step->is_captured(), i >= 2) << p.step->fallback();
  }
}

TEST(RoundedCopies, TheStepMayBeInTheGraph) {
  CapturedProduct p;
  p.after = [&] { p.w.sgd(p.w.flat, p.g); };
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> expected = p.expected();
    const std::int64_t before = p.w.copies();
    p.run();
    EXPECT_EQ(p.w.copies() - before, i == 0 ? 1 : 0);
    EXPECT_EQ(p.y.to_vector<float>(), expected) << i;
    p.w.expect_true();
  }
}

TEST(RoundedCopies, OtherWritesMayBeInTheGraph) {
  CapturedProduct p;
  p.after = [&] { p.w.backend.accumulate(p.w.flat, p.g, 0.5); };
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> expected = p.expected();
    p.run();
    EXPECT_EQ(p.y.to_vector<float>(), expected) << i;
    p.w.expect_true();
  }
}

// The graph knows no copy, because none was wanted when it was captured.
TEST(RoundedCopies, AGraphOfEarlierWritesWeightsToo) {
  KeptWeights w;
  const Tensor g = w.gradients();
  cuda::CapturedStep step(w.device.backend);
  for (int i = 0; i < 6; ++i) {
    step.run([&] { w.sgd(w.flat, g); });
    if (i > 2) w.expect_true();
  }
  EXPECT_TRUE(step.is_captured());
}

// So it is with one that is captured right after a write: what the test puts into the copy is what it reads.
TEST(RoundedCopies, AGraphRoundsNothingItself) {
  CapturedProduct p;
  for (int i = 0; i < 3; ++i) {
    p.w.flat.fill(0.5 + i);
    p.run();
  }
  ASSERT_TRUE(p.step->is_captured());
  p.w.backend.rounded(p.w.weight).fill(0.0);
  p.run();
  EXPECT_EQ(p.y.to_vector<float>(), repeated(16, 0));
}

/// Memory for the copy, which nobody has.
void leave_room(KeptWeights& w) {
  Tensor::empty({64}, {.dtype = DType::bf16, .backend = &w.backend});
}

// The copy is wanted for the first time where nothing runs.
TEST(RoundedCopies, ACaptureThatIsGivenUpHasRoundedNothing) {
  KeptWeights w;
  cuda::CapturedStep step(w.device.backend);
  leave_room(w);
  for (int i = 0; i < 4; ++i) {
    bool gives_up = i == 2;
    step.run([&] {
      if (i >= 2) w.backend.rounded(w.weight);
      if (std::exchange(gives_up, false)) w.backend.synchronize();
    });
  }
  EXPECT_NE(step.fallback().find("the host waited"), std::string::npos) << step.fallback();
  w.expect_true();
}

// Which keeps its memory to itself.
TEST(RoundedCopies, HaveNoMemoryOfTheStepThatWantedThemFirst) {
  KeptWeights w;
  cuda::CapturedStep step(w.device.backend);
  leave_room(w);
  const std::size_t before = w.device.backend.allocator().statistics().requests;
  step.run([&] { w.backend.rounded(w.weight); });
  EXPECT_EQ(w.device.backend.allocator().statistics().requests, before);
}

TEST(RoundedCopies, AreKeptAsLongAsSomebodyWantsThem) {
  KeptWeights w;
  const Tensor view = w.backend.rounded(w.weight);
  w.kept.reset();
  w.ops.clear();
  const Tensor again = w.backend.rounded(w.weight);
  EXPECT_EQ(w.copies(), 1);
  EXPECT_FALSE(again.shares_storage_with(view));
  w.sgd(w.flat, w.gradients());
  w.expect_true();
}

// Strides, other dtypes, other memory, and buffers of which nobody said anything.
TEST(RoundedCopies, OfAllElseThereAreNone) {
  KeptWeights w;
  w.expect_true();
  w.ops.clear();
  const Tensor turned = w.weight.permute({1, 0}), other = random_tensor(w.backend, {4}, DType::f32, 9);
  for (const Tensor& x : {turned, other}) {
    const Tensor rounded = w.backend.rounded(x);
    EXPECT_FALSE(rounded.shares_storage_with(w.backend.rounded(w.weight)));
    EXPECT_EQ(rounded.to_vector<float>(), x.to(DType::bf16).to_vector<float>());
  }
  EXPECT_EQ(w.backend.keep_rounded(Tensor::zeros({4}, {.dtype = DType::f64, .backend = &w.backend})),
            nullptr);
}

// In other memory, too, an arena's weights are kept; on the CPU nothing is.
TEST(RoundedCopies, AnArenaKeepsItsOwn) {
  FakeDevice device;
  Dense layer({.units = 3});
  layer.build({5}, {.backend = &device.backend, .compute_dtype = DType::bf16});
  ParameterArena arena(layer);
  const auto is_kept = [&] {
    const Tensor a = device.backend.rounded(arena.variable(0).value()),
                 b = device.backend.rounded(arena.variable(1).value());
    return a.shares_storage_with(b);
  };
  EXPECT_TRUE(is_kept());
  arena.use_values(Tensor::zeros(arena.values().shape(), arena.values().options()));
  EXPECT_TRUE(is_kept());
  EXPECT_EQ(backend("cpu").keep_rounded(Tensor::zeros({4}, {.backend = &backend("cpu")})), nullptr);
}

}  // namespace
}  // namespace ronde::test
