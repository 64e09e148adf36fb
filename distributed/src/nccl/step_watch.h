/// StepWatch: looks after what a rank's GPU does with those of others, on a thread.
///
/// Note [Steps on a GPU]: the host is ahead of its GPU, so that it starts an exchange says little. What the
/// ranks share are steps: behind each one stands a mark, and between a mark that was set and one that was
/// passed the flight recorder shows an operation, "gpu step", numbered alike on all ranks. A host sets a mark
/// when the one before it was passed, so a GPU is never more than two steps behind it, and a step that does
/// not end is an operation that does not end: the watchdog then names the rank whose number is lowest. Errors
/// that NCCL reports are found by the same thread.
#pragma once

#include <condition_variable>
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

  /// Waits for the step before. Throws the group's error.
  void step();

 private:
  void watch();
  /// `mutex_` is held.
  bool has_passed();

  DeviceGroup& group_;
  std::shared_ptr<FlightRecorder> recorder_;
  std::unique_ptr<FlightRecorder::Group> flight_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<DeviceGroup::Started> mark_;  // nullptr: passed
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace ronde::inline v0
