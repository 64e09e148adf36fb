// How long an all-reduce takes, from a number to all gradients of a large net.
#include <algorithm>
#include <chrono>

#include <ronde/distributed/values.h>

#include "ronde/bench_facts.h"

namespace ronde::apps {
namespace {

constexpr std::int64_t kSizes[] = {4,         64,        1'024,      16'384,     262'144,
                                   1'048'576, 4'799'528, 25'000'000, 100'000'000};
constexpr int kFewestCalls = 3, kMostCalls = 2'000;
/// Larger ones would take minutes.
constexpr double kTooLong = 1.0;

double seconds_of_call(Communicator& world, const Tensor& data) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  world.allreduce(data).wait();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double of_slowest_rank(Communicator& world, double seconds) {
  return allreduce_value(world, seconds, {.op = Reduction::max}).wait();
}

double median_seconds(Communicator& world, const Tensor& data, double budget) {
  seconds_of_call(world, data);
  const double once = of_slowest_rank(world, seconds_of_call(world, data));
  const int calls = static_cast<int>(std::clamp(budget / once, double{kFewestCalls}, double{kMostCalls}));
  std::vector<double> times;
  world.barrier().wait();
  for (int call = 0; call < calls; ++call) times.push_back(seconds_of_call(world, data));
  std::nth_element(times.begin(), times.begin() + calls / 2, times.end());
  return of_slowest_rank(world, times[static_cast<std::size_t>(calls / 2)]);
}

}  // namespace

std::vector<TimedMessage> measure_allreduce_curve(Communicator& world, const BenchOptions& options) {
  std::vector<TimedMessage> curve;
  if (world.size() == 1) return curve;
  // Zeros stay zeros, however often they are added.
  const Tensor data = world.shared_tensor({options.largest / 4}, {.dtype = DType::f32});
  for (const std::int64_t bytes : kSizes) {
    if (bytes > options.largest) break;
    const double seconds = median_seconds(world, data.view(0, {bytes / 4}), options.seconds_per_size);
    curve.push_back({static_cast<double>(bytes), seconds});
    if (seconds > kTooLong) break;
  }
  return curve;
}

}  // namespace ronde::apps
