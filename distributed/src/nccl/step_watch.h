/// StepWatch: looks after what a rank's GPU does with those of others, on a thread.
///
/// Note [Steps on a GPU]: the host is ahead of its GPU, so that it starts an exchange says little. What the
/// ranks share are steps: behind each one stands a mark, and between a mark that was set and one that was
/// passed the flight recorder shows an operation, "gpu step", numbered alike on all ranks: the oldest one
/// that was not passed. A step that does not end is an operation that does not end: the watchdog then names
/// the rank whose number is lowest. Errors that NCCL reports are found by the same thread.
///
/// A host sets a mark when the one `kAhead` before it was passed. Then the GPU has two whole steps to do
/// while the host wakes and gives it the next one: also steps of 50 us leave no gap. All that a step reads or
/// writes on the device is in the order of its stream, so how far the host is ahead changes no result; it is
/// kept small because a host that is far ahead hears late of errors, and because a driver takes a thousand
/// kernels or so before it makes the host wait where no watchdog sees it: three steps without graphs of a
/// ResNet-20.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include <ronde/core/device_group.h>

#include "watchdog/flight_recorder.h"

namespace ronde::inline v0 {

class StepWatch {
 public:
  /// `recorder` may be nullptr.
  StepWatch(DeviceGroup& group, std::shared_ptr<FlightRecorder> recorder);
  ~StepWatch();
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  static constexpr std::size_t kAhead = 2;

  /// Waits until there is room for a mark. Throws the group's error.
  void step();

 private:
  using Mark = std::shared_ptr<DeviceGroup::Started>;

  void watch();
  /// The oldest mark, when there are enough; nullptr: there is room.
  Mark in_the_way();
  /// `mutex_` is held.
  void take_passed();

  DeviceGroup& group_;
  std::shared_ptr<FlightRecorder> recorder_;
  std::unique_ptr<FlightRecorder::Group> flight_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Mark> marks_;  // that were not passed, oldest first
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace ronde::inline v0
