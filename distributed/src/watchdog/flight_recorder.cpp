#include "watchdog/flight_recorder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include <ronde/core/counted.h>
#include <ronde/core/philox.h>
#include <ronde/core/text.h>

#include "watchdog/deadlines.h"

namespace ronde::inline v0 {
namespace {

// Never 0.
std::uint64_t id_of(const std::string& name) {
  return hash_name(name) | 1;
}

std::string bytes_text(std::int64_t bytes) {
  std::array<char, 48> text{};
  if (bytes < 1000) {
    std::snprintf(text.data(), text.size(), "%lld bytes", static_cast<long long>(bytes));
  } else if (bytes < 1'000'000) {
    std::snprintf(text.data(), text.size(), "%.1f kB", static_cast<double>(bytes) / 1e3);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f MB", static_cast<double>(bytes) / 1e6);
  }
  return text.data();
}

std::string milliseconds_text(std::int64_t begin, std::int64_t end) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.3f ms", static_cast<double>(end - begin) * 1e-6);
  return text.data();
}

// "3.250 s ago  #12 allreduce ... waited 0.010 ms, moved data for 0.200 ms"
std::string line_of(const RecordedOperation& operation, std::int64_t now) {
  std::array<char, 48> age{};
  std::snprintf(age.data(), age.size(), "%10.6f s ago  ",
                static_cast<double>(now - operation.arrived) * 1e-9);
  const std::string waited = operation.met > 0
                                 ? cat("waited ", milliseconds_text(operation.arrived, operation.met))
                             : operation.left > 0 ? std::string("failed while it waited")
                                                  : std::string("WAITS for the other ranks");
  std::string moved;
  if (operation.met > 0)
    moved = operation.left > 0 ? cat(", data moved for ", milliseconds_text(operation.met, operation.left))
                               : std::string(", data MOVES");
  return cat(age.data(), describe(operation), ": ", waited, moved, '\n');
}

}  // namespace

std::string describe(const RecordedOperation& operation) {
  return cat(operation.verb, " #", operation.sequence,
             operation.name.empty() ? std::string() : cat(" '", operation.name, "'"),
             operation.label ? cat(" of ", operation.label) : std::string(),
             operation.bytes > 0 ? cat(" (", bytes_text(operation.bytes), ')') : std::string());
}

std::int64_t FlightRecorder::now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

FlightRecorder::FlightRecorder() : own_slot_{} {}

FlightRecorder::Group::Group(FlightRecorder& recorder, std::string name)
    : recorder_(recorder), name_(std::move(name)), id_(id_of(name_)), ring_(kOperations) {
  const std::lock_guard lock(recorder_.mutex_);
  recorder_.groups_.push_back(this);
  recorder_.slot()->set_sequence(id_, 0);
}

FlightRecorder::Group::~Group() {
  const std::lock_guard lock(recorder_.mutex_);
  recorder_.groups_.remove(this);
  recorder_.slot()->drop(id_);
}

void FlightRecorder::Group::arrive(RecordedOperation operation) {
  operation.arrived = now();
  met_.store(0, std::memory_order_relaxed);
  const std::lock_guard lock(recorder_.mutex_);
  operation.sequence = ++sequence_;
  ring_[static_cast<std::size_t>(sequence_) % kOperations] = std::move(operation);
  is_inside_ = true;
  recorder_.slot()->set_sequence(id_, sequence_);
  if (recorder_.heartbeat_) recorder_.heartbeat_->operations.fetch_add(1, std::memory_order_relaxed);
}

void FlightRecorder::Group::leave() {
  const std::int64_t left = now();
  const std::lock_guard lock(recorder_.mutex_);
  RecordedOperation& operation = ring_[static_cast<std::size_t>(sequence_) % kOperations];
  operation.met = met_.load(std::memory_order_relaxed);
  operation.left = left;
  is_inside_ = false;
}

void FlightRecorder::begin_phase(WatchedWork work) {
  const std::lock_guard lock(mutex_);
  work_ = work;
  ++phases_;
  slot()->work.store(work);
}

void FlightRecorder::end_phase() {
  const std::lock_guard lock(mutex_);
  work_ = WatchedWork::none;
  slot()->work.store(work_);
}

void FlightRecorder::publish_in(ProgressSlot& slot, std::shared_ptr<const void> keep) {
  const std::lock_guard lock(mutex_);
  for (const Group* group : groups_) slot.set_sequence(group->id_, group->sequence_);
  slot.work.store(work_);
  keep_ = std::move(keep);
  slot_.store(&slot, std::memory_order_release);
}

void FlightRecorder::set_step(std::int64_t step) {
  slot()->step.store(step, std::memory_order_relaxed);
  if (!heartbeat_) return;
  heartbeat_->beat.store(now(), std::memory_order_relaxed);
  heartbeat_->step.store(step, std::memory_order_relaxed);
}

void FlightRecorder::begin_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  is_told_steps_ = true;
  set_step(step);
}

void FlightRecorder::count_update(std::int64_t updates) {
  const std::lock_guard lock(mutex_);
  if (heartbeat_) heartbeat_->batches.fetch_add(1, std::memory_order_relaxed);
  if (!is_told_steps_) set_step(updates + 1);
}

void FlightRecorder::count_batch() {
  const std::lock_guard lock(mutex_);
  if (heartbeat_) heartbeat_->batches.fetch_add(1, std::memory_order_relaxed);
}

void FlightRecorder::beat_in(std::shared_ptr<HeartbeatSlot> slot) {
  const std::lock_guard lock(mutex_);
  heartbeat_ = std::move(slot);
}

void FlightRecorder::beat() {
  const std::lock_guard lock(mutex_);
  if (heartbeat_) heartbeat_->beat.store(now(), std::memory_order_relaxed);
}

void FlightRecorder::begin_pause() {
  const std::lock_guard lock(mutex_);
  if (heartbeat_) heartbeat_->paused.store(1);
}

void FlightRecorder::end_pause() {
  const std::lock_guard lock(mutex_);
  if (heartbeat_) heartbeat_->paused.store(0);
}

std::vector<FlightRecorder::Pending> FlightRecorder::pending() const {
  const std::lock_guard lock(mutex_);
  std::vector<Pending> all;
  for (const Group* group : groups_) {
    if (!group->is_inside_) continue;
    all.push_back(
        {group->name_, group->id_, group->ring_[static_cast<std::size_t>(group->sequence_) % kOperations]});
    all.back().operation.met = group->met_.load(std::memory_order_relaxed);
  }
  return all;
}

FlightRecorder::Phase FlightRecorder::phase() const {
  const std::lock_guard lock(mutex_);
  return work_ == WatchedWork::none ? Phase{} : Phase{work_, phases_};
}

std::string FlightRecorder::dump() const {
  const std::lock_guard lock(mutex_);
  const std::int64_t at = now();
  std::string text;
  if (work_ != WatchedWork::none) text += cat("now: ", describe(work_), '\n');
  for (const Group* group : groups_) {
    text += cat("communicator ", group->name_, ", ", counted(group->sequence_, "operation"), " so far:\n");
    const auto kept = std::min<std::int64_t>(group->sequence_, kOperations);
    for (std::int64_t s = group->sequence_ - kept + 1; s <= group->sequence_; ++s) {
      RecordedOperation operation = group->ring_[static_cast<std::size_t>(s) % kOperations];
      if (s == group->sequence_ && group->is_inside_)
        operation.met = group->met_.load(std::memory_order_relaxed);
      text += line_of(operation, at);
    }
  }
  return text;
}

}  // namespace ronde::inline v0
