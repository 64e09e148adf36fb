#include "nccl/step_watch.h"

#include <chrono>

#include <ronde/core/error.h>
#include <ronde/core/trace.h>

namespace ronde::inline v0 {

namespace {

constexpr std::chrono::milliseconds kRound{20};     // of the thread
constexpr std::chrono::microseconds kQuestion{20};  // of a host that is a step ahead

}  // namespace

StepWatch::StepWatch(DeviceGroup& group, std::shared_ptr<FlightRecorder> recorder)
    : group_(group), recorder_(std::move(recorder)) {
  if (recorder_) flight_ = recorder_->join("gpu");
  thread_ = std::thread([this] { watch(); });
}

StepWatch::~StepWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (flight_ && mark_) flight_->leave();
}

bool StepWatch::has_passed() {
  if (!mark_) return true;
  if (!mark_->done()) return false;
  mark_.reset();
  if (flight_) flight_->leave();
  return true;
}

void StepWatch::step() {
  const TraceScope scope("wait", "wait for the GPU");
  for (;;) {
    const std::lock_guard lock(mutex_);
    if (has_passed()) break;
    std::this_thread::sleep_for(kQuestion);
  }
  const std::lock_guard lock(mutex_);
  mark_ = group_.mark();
  if (flight_) flight_->arrive({.verb = "gpu step"});
}

void StepWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kRound, [&] { return is_over_; })) {
    // Where ranks are lost this takes a while, in which nobody is to wait for the lock.
    lock.unlock();
    const bool is_alive = group_.poll();
    lock.lock();
    if (!is_alive) return;
    try {
      has_passed();
    } catch (const Error&) {
      return;  // the device is lost; who waits for it is told
    }
  }
}

}  // namespace ronde::inline v0
