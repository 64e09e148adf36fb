#include "cuda/wait.h"

#include <algorithm>
#include <thread>

namespace ronde::inline v0::cuda {

namespace {

constexpr int kEagerQuestions = 200;  // some 100 us: a step of a small net
constexpr std::chrono::microseconds kLongestPause{500};

}  // namespace

void Pauses::pause() {
  if (++questions_ <= kEagerQuestions) return std::this_thread::yield();
  std::this_thread::sleep_for(next_);
  next_ = std::min(2 * next_, kLongestPause);
}

Status wait_for(Runtime& runtime, Event event) {
  for (Pauses pauses;; pauses.pause()) {
    const Status status = runtime.query(event);
    if (status.outcome != Outcome::not_ready) return status;
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
