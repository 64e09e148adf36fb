#include "nccl/step_watch.h"

#include <chrono>

#include <ronde/core/error.h>
#include <ronde/core/signals.h>
#include <ronde/core/trace.h>

namespace ronde::inline v0 {

namespace {

constexpr std::chrono::milliseconds kRound{20};  // of the thread

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
  if (flight_ && !marks_.empty()) flight_->leave();
}

void StepWatch::take_passed() {
  while (!marks_.empty() && marks_.front()->done()) {
    marks_.pop_front();
    if (!flight_) continue;
    flight_->leave();
    if (!marks_.empty()) flight_->arrive({.verb = "gpu step"});
  }
}

StepWatch::Mark StepWatch::in_the_way() {
  const std::lock_guard lock(mutex_);
  take_passed();
  return marks_.size() < kAhead ? nullptr : marks_.front();
}

void StepWatch::step() {
  const TraceScope scope("wait", "wait for the GPU");
  while (const Mark oldest = in_the_way()) oldest->wait();
  const std::lock_guard lock(mutex_);
  marks_.push_back(group_.mark());
  if (flight_ && marks_.size() == 1) flight_->arrive({.verb = "gpu step"});
}

void StepWatch::watch() {
  block_signals();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kRound, [&] { return is_over_; })) {
    // Where ranks are lost this takes a while, in which nobody is to wait for the lock.
    lock.unlock();
    const bool is_alive = group_.poll();
    lock.lock();
    if (!is_alive) return;
    try {
      take_passed();
    } catch (const Error&) {
      return;  // the device is lost; who waits for it is told
    }
  }
}

}  // namespace ronde::inline v0
