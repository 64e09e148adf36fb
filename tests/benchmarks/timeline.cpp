// What an event of a timeline costs: where it happens, until it is in the file, and when parts become one.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include <ronde/core/trace.h>
#include <ronde/distributed/self_communicator.h>
#include <ronde/distributed/timeline.h>

#include "stopwatch.h"

namespace bench {
namespace {

using namespace ronde;

constexpr int kBatches = 20, kEvents = 10'000;  // in each batch; a ring holds more

double nanoseconds_per_event(double seconds) {
  return 1e9 * seconds / (kBatches * kEvents);
}

void measure(std::optional<TimelineOptions> options) {
  SelfCommunicator world;
  std::optional<Timeline> timeline;
  if (options) timeline.emplace(world, *options);
  const double begin = processor_seconds();
  double scopes = 0.0;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double before = processor_seconds();
    for (int i = 0; i < kEvents; ++i) const TraceScope scope("forward", "conv2d_1", {"step", i});
    scopes += processor_seconds() - before;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // until the writer has them
  }
  const double recorded = processor_seconds();
  if (timeline) timeline->stop();
  std::printf("%s: %.0f ns in the thread, %.0f ns in all until it is written, %.0f ns at the end\n",
              options ? "recorded" : "not recorded", nanoseconds_per_event(scopes),
              nanoseconds_per_event(recorded - begin), nanoseconds_per_event(processor_seconds() - recorded));
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "ronde_bench_timeline.json";
  bench::measure({});
  bench::measure(ronde::TimelineOptions{.path = path});
  ::unlink(path.c_str());
}
