// The fake device itself: what it lets pass, what it refuses, in which order it runs.
#include <cstring>

#include "cuda/fake_device.h"
#include "cuda/wait.h"

namespace ronde::test {
namespace {

using cuda::CopyKind;
using cuda::Outcome;

constexpr std::size_t kBytes = 1024;

class FakeRuntimeTest : public ::testing::Test {
 protected:
  FakeRuntimeTest() {
    EXPECT_TRUE(runtime.create_stream(&first).ok());
    EXPECT_TRUE(runtime.create_stream(&second).ok());
    EXPECT_TRUE(runtime.create_event(&event).ok());
    EXPECT_TRUE(runtime.allocate(kBytes, &memory).ok());
    EXPECT_TRUE(runtime.allocate(kBytes, &other).ok());
    EXPECT_TRUE(runtime.allocate_pinned(kBytes, &pinned).ok());
  }

  cuda::Call fill(void* where, double value) const {
    cuda::Call call{.op = cuda::Op::fill, .outputs = 1, .operands = 1, .attributes = {.value = value}};
    call.tensors[0] = {.data = where, .defined = true, .dtype = DType::f32, .rank = 1};
    call.tensors[0].shape[0] = kBytes / 4;
    call.tensors[0].strides[0] = 1;
    return call;
  }
  cuda::Status fill_on(cuda::Stream stream, double value) {
    return runtime.launch(fill(memory, value), nullptr, nullptr, stream);
  }
  float first_float() {
    EXPECT_TRUE(cuda::wait_for(runtime, first).ok());
    EXPECT_TRUE(cuda::wait_for(runtime, second).ok());
    EXPECT_TRUE(runtime.copy(pinned, memory, kBytes, CopyKind::to_host, first).ok());
    EXPECT_TRUE(cuda::wait_for(runtime, first).ok());
    return *static_cast<float*>(pinned);
  }

  FakeRuntime runtime;
  cuda::Stream first = nullptr, second = nullptr;
  cuda::Event event = nullptr;
  void *memory = nullptr, *other = nullptr, *pinned = nullptr;
};

TEST_F(FakeRuntimeTest, AMissingEventIsRefused) {
  EXPECT_TRUE(fill_on(first, 1).ok());
  const cuda::Status status = fill_on(second, 2);
  EXPECT_EQ(status.outcome, Outcome::refused);
  EXPECT_NE(std::string(status.text).find("no event says which comes first"), std::string::npos);
}

TEST_F(FakeRuntimeTest, AnEventOrdersTwoStreams) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_TRUE(fill_on(first, 1).ok());
    EXPECT_TRUE(runtime.record(event, first).ok());
    EXPECT_TRUE(runtime.wait(second, event).ok());
    EXPECT_TRUE(fill_on(second, 2).ok());
    EXPECT_EQ(first_float(), 2.0f);
  }
}

TEST_F(FakeRuntimeTest, AnEventSaysNothingOfWhatCameAfterIt) {
  EXPECT_TRUE(runtime.record(event, first).ok());
  EXPECT_TRUE(fill_on(first, 1).ok());
  EXPECT_TRUE(runtime.wait(second, event).ok());
  EXPECT_EQ(fill_on(second, 2).outcome, Outcome::refused);
}

TEST_F(FakeRuntimeTest, WhatTheHostWaitedForIsOver) {
  EXPECT_TRUE(fill_on(first, 1).ok());
  EXPECT_TRUE(cuda::wait_for(runtime, first).ok());
  EXPECT_TRUE(fill_on(second, 2).ok());
}

TEST_F(FakeRuntimeTest, ReadersNeedNoOrderWritersDo) {
  void* second_pinned = nullptr;
  ASSERT_TRUE(runtime.allocate_pinned(kBytes, &second_pinned).ok());
  EXPECT_TRUE(runtime.copy(pinned, memory, kBytes, CopyKind::to_host, first).ok());
  EXPECT_TRUE(runtime.copy(second_pinned, memory, kBytes, CopyKind::to_host, second).ok());
  EXPECT_EQ(fill_on(second, 2).outcome, Outcome::refused);
}

TEST_F(FakeRuntimeTest, RunsLate) {
  EXPECT_TRUE(fill_on(first, 1).ok());
  EXPECT_TRUE(runtime.copy(pinned, memory, kBytes, CopyKind::to_host, first).ok());
  float value = 0;
  std::memcpy(&value, pinned, sizeof value);
  EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(cuda::wait_for(runtime, first).ok());
  std::memcpy(&value, pinned, sizeof value);
  EXPECT_EQ(value, 1.0f);
}

TEST_F(FakeRuntimeTest, TheOrderDependsOnTheSeedAlone) {
  const auto orders = [](std::uint64_t seed) {
    Scheduler scheduler(seed);
    std::string order;
    for (int s = 0; s < 3; ++s) scheduler.add_stream();
    for (std::size_t i = 0; i < 30; ++i)
      scheduler.give(i % 3, {.run = [&order, i] { order += std::to_string(i % 3); }});
    for (std::size_t s = 0; s < 3; ++s)
      while (!scheduler.ask(scheduler.mark(s))) continue;
    return order;
  };
  EXPECT_EQ(orders(1), orders(1));
  EXPECT_NE(orders(1), orders(2));
}

TEST_F(FakeRuntimeTest, RefusesWhatAGpuWouldLetPass) {
  std::vector<char> pageable(kBytes);
  EXPECT_EQ(runtime.copy(memory, pageable.data(), kBytes, CopyKind::to_device, first).outcome,
            Outcome::refused);
  EXPECT_EQ(runtime.launch(fill(static_cast<char*>(memory) + 256, 1), nullptr, nullptr, first).outcome,
            Outcome::refused);
  EXPECT_TRUE(fill_on(first, 1).ok());
  EXPECT_EQ(runtime.release(memory).outcome, Outcome::refused);
  EXPECT_EQ(runtime.release(pinned).outcome, Outcome::refused);
}

TEST_F(FakeRuntimeTest, TheHostCannotReadTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile float*>(memory)), "");
}

TEST_F(FakeRuntimeTest, CapturesForksAndJoins) {
  cuda::Graph graph = nullptr;
  ASSERT_TRUE(runtime.begin_capture(first).ok());
  EXPECT_TRUE(fill_on(first, 3).ok());
  EXPECT_TRUE(runtime.record(event, first).ok());
  EXPECT_TRUE(runtime.wait(second, event).ok());
  EXPECT_TRUE(runtime.launch(fill(other, 4), nullptr, nullptr, second).ok());
  EXPECT_TRUE(runtime.record(event, second).ok());
  EXPECT_TRUE(runtime.wait(first, event).ok());
  ASSERT_TRUE(runtime.end_capture(first, &graph).ok());
  EXPECT_TRUE(std::isnan(first_float())) << "captured work does not run";
  EXPECT_TRUE(runtime.replay(graph, first).ok());
  EXPECT_EQ(first_float(), 3.0f);
}

// A graph's branches run beside each other, as streams do.
TEST_F(FakeRuntimeTest, BranchesOfAGraphThatUseTheSameMemoryAreRefused) {
  cuda::Graph graph = nullptr;
  ASSERT_TRUE(runtime.begin_capture(first).ok());
  EXPECT_TRUE(runtime.record(event, first).ok());
  EXPECT_TRUE(runtime.wait(second, event).ok());
  EXPECT_TRUE(fill_on(second, 4).ok());
  EXPECT_TRUE(runtime.launch(fill(other, 3), nullptr, nullptr, first).ok());
  EXPECT_EQ(fill_on(first, 3).outcome, Outcome::refused);
  const cuda::Status status = runtime.end_capture(first, &graph);
  EXPECT_EQ(status.outcome, Outcome::refused);
  EXPECT_NE(std::string(status.text).find("no event says which comes first"), std::string::npos);
}

// As those of CUDA: an error once, and nothing goes on before the end.
TEST_F(FakeRuntimeTest, WhatTakesPartInABrokenCaptureDoesNothingMore) {
  cuda::Graph graph = nullptr;
  ASSERT_TRUE(runtime.begin_capture(first).ok());
  EXPECT_EQ(runtime.query(event).outcome, Outcome::refused);
  EXPECT_EQ(fill_on(first, 3).outcome, Outcome::refused);
  EXPECT_EQ(runtime.record(event, first).outcome, Outcome::refused);
  EXPECT_TRUE(runtime.record(event, second).ok());
  EXPECT_EQ(runtime.wait(first, event).outcome, Outcome::refused);
  EXPECT_EQ(runtime.end_capture(first, &graph).outcome, Outcome::refused);
  EXPECT_TRUE(fill_on(first, 5).ok());
  EXPECT_EQ(first_float(), 5.0f);
}

TEST_F(FakeRuntimeTest, AnEventOfACaptureStandsForNothingOutsideOfIt) {
  cuda::Graph graph = nullptr;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(runtime.begin_capture(first).ok());
    if (i == 1) {
      EXPECT_EQ(runtime.wait(second, event).outcome, Outcome::refused);
    }
    EXPECT_TRUE(runtime.record(event, first).ok());
    ASSERT_TRUE(runtime.end_capture(first, &graph).ok());
  }
  EXPECT_EQ(runtime.query(event).outcome, Outcome::refused);
  EXPECT_EQ(runtime.wait(second, event).outcome, Outcome::refused);
}

TEST_F(FakeRuntimeTest, AForkThatDoesNotJoinIsNoGraph) {
  cuda::Graph graph = nullptr;
  ASSERT_TRUE(runtime.begin_capture(first).ok());
  EXPECT_TRUE(runtime.record(event, first).ok());
  EXPECT_TRUE(runtime.wait(second, event).ok());
  EXPECT_TRUE(fill_on(second, 4).ok());
  EXPECT_EQ(runtime.end_capture(first, &graph).outcome, Outcome::refused);
}

TEST_F(FakeRuntimeTest, ACaptureAllocatesNothingAndWaitsForNothing) {
  const auto breaks = [&](const auto& what) {
    cuda::Graph graph = nullptr;
    EXPECT_TRUE(runtime.begin_capture(first).ok());
    EXPECT_EQ(what().outcome, Outcome::refused);
    EXPECT_EQ(runtime.end_capture(first, &graph).outcome, Outcome::refused);
  };
  void* more = nullptr;
  breaks([&] { return runtime.allocate(kBytes, &more); });
  breaks([&] { return runtime.release(memory); });
  breaks([&] { return runtime.allocate_pinned(kBytes, &more); });
  breaks([&] { return runtime.query(event); });
}

TEST(FakeRuntimeFaults, AFailureIsFinal) {
  FakeDevice device({.failing_launch = 3});
  const Tensor x = filled(device.backend, {4}, 1.0);
  device.backend.fill(x, 2.0);
  EXPECT_EQ(x.to_vector<float>(), repeated(4, 2));
  device.backend.fill(x, 3.0);
  expect_error([&] { device.backend.synchronize(); }, "illegal memory access");
  expect_error([&] { x.to_vector<float>(); }, "illegal memory access");
  expect_error([&] { device.backend.fill(x, 4.0); }, "illegal memory access");
}

TEST(FakeRuntimeFaults, ADelayChangesNothing) {
  FakeDevice device({.delayed_launch = 2});
  const Tensor x = filled(device.backend, {4}, 1.0);
  device.backend.fill(x, 2.0);
  EXPECT_EQ(x.to_vector<float>(), repeated(4, 2));
}

TEST(FakeRuntimeFaults, AHangNeverEnds) {
  FakeDevice device({.hanging_launch = 1});
  const Tensor x = filled(device.backend, {4}, 1.0);
  cuda::Event event = nullptr;
  ASSERT_TRUE(device.runtime.create_event(&event).ok());
  ASSERT_TRUE(device.runtime.record(event, device.backend.stream()).ok());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(device.runtime.query(event).outcome, Outcome::not_ready);
  device.runtime.lose("reset by the watchdog");
  expect_error([&] { x.to_vector<float>(); }, "reset by the watchdog");
}

}  // namespace
}  // namespace ronde::test
