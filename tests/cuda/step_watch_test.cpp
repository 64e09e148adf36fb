// How far a host is ahead of its GPU, and what it does while it waits.
#include <ctime>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cuda/fake_device.h"
#include "cuda/wait.h"
#include "nccl/step_watch.h"

namespace ronde::test {
namespace {

using Clock = std::chrono::steady_clock;

long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Watched {
  explicit Watched(FakeOptions options = {})
      : device(options),
        group(device.backend, DeviceGroup::make_id(device.backend), 0, 1),
        recorder(std::make_shared<FlightRecorder>()),
        watch(group, recorder) {}

  void step() {
    x.fill(1.0);
    watch.step();
  }
  /// Of the step that the recorder shows; 0: none.
  std::int64_t shown() const {
    const auto pending = recorder->pending();
    return pending.empty() ? 0 : pending[0].operation.sequence;
  }

  FakeDevice device;
  DeviceGroup group;
  std::shared_ptr<FlightRecorder> recorder;
  StepWatch watch;
  Tensor x = Tensor::zeros({4}, {.backend = &device.backend});  // one launch
};

TEST(StepWatch, LeavesTheGpuTwoStepsWhileTheHostWaits) {
  Watched gpu({.hanging_launch = 2});
  for (std::size_t i = 0; i < StepWatch::kAhead; ++i) gpu.step();  // none of them ends
  EXPECT_EQ(gpu.shown(), 1);
  std::atomic<bool> is_back = false;
  double processor = 0;
  std::thread host([&] {
    expect_error([&] { gpu.step(); }, "given up by the test");
    processor = processor_seconds();
    is_back = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(is_back);
  EXPECT_EQ(gpu.shown(), 1);
  gpu.group.give_up("given up by the test");
  host.join();
  EXPECT_LT(processor, 0.1);  // of 0.3 seconds
}

TEST(StepWatch, ShowsEveryStep) {
  Watched gpu;
  constexpr int steps = 20;
  for (int i = 0; i < steps; ++i) gpu.step();
  gpu.device.backend.synchronize();
  for (int i = 0; i < 1000 && gpu.shown() != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(gpu.shown(), 0);
  const std::string dump = gpu.recorder->dump();
  EXPECT_NE(dump.find(cat("gpu step #", steps)), std::string::npos) << dump;
  EXPECT_EQ(dump.find(cat("gpu step #", steps + 1)), std::string::npos) << dump;
  EXPECT_EQ(dump.find("WAITS"), std::string::npos) << dump;
}

// The kernel counts each sleep as a switch that the thread wanted, and a yield as one that it did not.
TEST(Pauses, AreNoneAtFirst) {
  cuda::Pauses pauses;
  const long awake = sleeps();
  for (int i = 0; i < 100; ++i) pauses.pause();
  EXPECT_LT(sleeps() - awake, 50);
  for (int i = 0; i < 200; ++i) pauses.pause();
  // Of 100, the shortest of which may be over before the thread has gone to sleep.
  EXPECT_GE(sleeps() - awake, 90);
}

}  // namespace
}  // namespace ronde::test
