#include "cuda/wait.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace ronde::inline v0::cuda {

namespace {

constexpr int kEagerQueries = 200;  // some 100 us: a step of a small net
constexpr std::chrono::microseconds kShortestPause{10}, kLongestPause{500};

}  // namespace

Status wait_for(Runtime& runtime, Event event) {
  auto pause = kShortestPause;
  for (int queries = 0;; ++queries) {
    const Status status = runtime.query(event);
    if (status.outcome != Outcome::not_ready) return status;
    if (queries < kEagerQueries) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

Status wait_for(Runtime& runtime, Stream stream) {
  Event event = nullptr;
  Status status = runtime.create_event(&event);
  if (!status.ok()) return status;
  status = runtime.record(event, stream);
  if (status.ok()) status = wait_for(runtime, event);
  runtime.destroy_event(event);
  return status;
}

}  // namespace ronde::inline v0::cuda
