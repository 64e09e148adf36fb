#include "cuda/captured_step.h"

#include "cuda/fake_device.h"

namespace ronde::test {
namespace {

// Two layers of a net in small: memory of its own inside, a sum that goes on from step to step.
struct Work {
  explicit Work(Backend& backend)
      : input(filled(backend, {4, 8}, 0.0)),
        weight(filled(backend, {8, 8}, 0.5)),
        total(Tensor::zeros({4, 8}, input.options())) {}

  void run() {
    Backend& backend = input.backend();
    const Tensor hidden = Tensor::empty_like(input);
    backend.matmul(hidden, input, weight, {});
    output = Tensor::empty_like(input);
    backend.matmul(output, hidden, weight, {});
    backend.accumulate(total, output, 1.0);
  }

  Tensor input, weight, total, output;
};

TEST(CapturedStep, GivesWhatPlainRunsGive) {
  FakeDevice device;
  Work captured(device.backend), plain(device.backend);
  cuda::CapturedStep step(device.backend);
  for (int i = 1; i <= 6; ++i) {
    captured.input.fill(i);
    plain.input.fill(i);
    step.run([&] { captured.run(); });
    plain.run();
    EXPECT_EQ(step.is_captured(), i >= 3) << step.fallback();
    EXPECT_EQ(captured.output.to_vector<float>(), plain.output.to_vector<float>());
    EXPECT_EQ(captured.total.to_vector<float>(), plain.total.to_vector<float>());
  }
  EXPECT_EQ(device.runtime.replays(), 4);
}

TEST(CapturedStep, TheHostDoesNothingButReplay) {
  FakeDevice device;
  Work work(device.backend);
  cuda::CapturedStep step(device.backend);
  int runs = 0;
  for (int i = 0; i < 5; ++i)
    step.run([&] {
      ++runs;
      work.run();
    });
  EXPECT_EQ(runs, 3);
}

// A graph's optimizer reads its rate where it lies, and the host sends it when it is another one.
TEST(CapturedStep, TakesTheNumbersOfTheTime) {
  FakeDevice device;
  const Tensor g = filled(device.backend, {16}, 1.0);
  Tensor captured = filled(device.backend, {16}, 0.0), plain = filled(device.backend, {16}, 0.0);
  cuda::CapturedStep step(device.backend);
  int counted = 0;
  for (int i = 0; i < 8; ++i) {
    const StepParams params{.learning_rate = i < 6 ? 0.5 : 0.25 * i};
    const std::int64_t before = device.runtime.launches();
    step.run([] {},
             [&] {
               ++counted;
               device.backend.sgd_step(captured, g, {}, params, {});
             });
    EXPECT_EQ(device.runtime.launches() - before, i < 3 ? 1 : 0);
    device.backend.sgd_step(plain, g, {}, params, {});
    EXPECT_EQ(captured.to_vector<float>(), plain.to_vector<float>()) << i;
  }
  EXPECT_EQ(counted, 8);
  EXPECT_EQ(step.numbers_sent(), 3u);
}

// Somebody else's memory, asked for between two repetitions, is not the graph's.
TEST(CapturedStep, ItsMemoryStaysItsOwn) {
  FakeDevice device;
  Work work(device.backend);
  cuda::CapturedStep step(device.backend);
  work.input.fill(1.0);
  for (int i = 0; i < 3; ++i) step.run([&] { work.run(); });
  std::vector<Tensor> others;
  for (int i = 0; i < 20; ++i) others.push_back(filled(device.backend, {4, 8}, 7.0));
  step.run([&] { work.run(); });
  for (const Tensor& other : others) EXPECT_EQ(other.to_vector<float>(), repeated(32, 7));
  EXPECT_EQ(work.output.to_vector<float>(), repeated(32, 16));
}

TEST(CapturedStep, StaysPlainAndSaysWhy) {
  FakeDevice device;
  Work work(device.backend);
  work.input.fill(1.0);
  const auto fallback_of = [&](const std::function<void()>& extra) {
    cuda::CapturedStep step(device.backend);
    for (int i = 0; i < 4; ++i) {
      step.run([&] {
        work.run();
        extra();
      });
      EXPECT_EQ(work.output.to_vector<float>(), repeated(32, 16));
    }
    EXPECT_FALSE(step.is_captured());
    return step.fallback();
  };
  // Whatever a driver lets pass: what it captured would be a copy of a slot that has something else by then.
  const std::string waits = "[cuda] the host waited for the device, or copied to it, inside a capture";
  EXPECT_EQ(fallback_of([&] { work.total.to_vector<float>(); }), waits);
  EXPECT_EQ(fallback_of([&] { device.backend.synchronize(); }), waits);
  EXPECT_EQ(fallback_of([&] { Tensor::from<float>({1}, {3.0f}, &device.backend); }), waits);
  std::vector<Tensor> kept;
  EXPECT_NE(fallback_of([&] {
              kept.push_back(Tensor::empty({3, 1000, 1000}, work.input.options()));
            }).find("memory of the device was asked for"),
            std::string::npos);
}

TEST(CapturedStep, WhatWasCountedForNothingIsTakenBack) {
  FakeDevice device({.failing_graph = 1});
  Work work(device.backend);
  work.input.fill(1.0);
  cuda::CapturedStep step(device.backend);
  int counted = 0, before = 0;
  for (int i = 0; i < 5; ++i)
    step.run([&] { work.run(); }, [&] { ++counted; },
             {.before = [&] { before = counted; }, .undo = [&] { counted = before; }});
  EXPECT_EQ(counted, 5);
  EXPECT_EQ(work.total.to_vector<float>(), repeated(32, 5 * 16));
  EXPECT_FALSE(step.is_captured());
  EXPECT_EQ(step.fallback(), "the fake device has no memory for a graph");
}

TEST(CapturedStep, WhatNobodyTakesBackIsAnError) {
  FakeDevice device({.failing_graph = 1});
  Work work(device.backend);
  cuda::CapturedStep step(device.backend);
  const auto run = [&] { step.run([&] { work.run(); }, [] {}); };
  run();
  run();
  expect_error(run, "has no memory for a graph; RONDE_CUDA_GRAPHS=off");
}

// Who has a graph himself goes without it where another has none.
TEST(CapturedStep, IsAGraphOfAllOrNone) {
  FakeDevice device;
  Work work(device.backend);
  cuda::CapturedStep step(device.backend);
  int asked = 0;
  for (int i = 0; i < 5; ++i)
    step.run([&] { work.run(); }, {}, {.agree = [&](const std::string& why) {
               ++asked;
               return why.empty() ? "rank 1: no memory" : "this one has none";
             }});
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(step.fallback(), "rank 1: no memory");
  EXPECT_EQ(device.runtime.replays(), 0);
}

}  // namespace
}  // namespace ronde::test
