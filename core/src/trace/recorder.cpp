#include <ronde/core/trace_recorder.h>

#include <algorithm>
#include <chrono>

#include <ronde/core/error.h>

#include "trace/ring.h"

namespace ronde::inline v0 {

void TraceRing::drain(const TraceRecorder::Visitor& visit) {
  TraceThread thread{.id = id_, .name = name_};
  thread.lost = static_cast<std::int64_t>(lost_.exchange(0, std::memory_order_relaxed));
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  do {
    const std::uint64_t place = tail % kSize, count = std::min(head - tail, kSize - place);
    if (count > 0 || thread.lost > 0) visit(thread, {&events_[place].event, count});
    thread.lost = 0;
    tail += count;
  } while (tail != head);
  tail_.store(tail, std::memory_order_release);
}

TraceRings& trace_rings() {
  static auto& rings = *new TraceRings;
  return rings;
}

std::int64_t trace_clock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

TraceRecorder::TraceRecorder(TraceWindow window) : begin_(trace_clock()) {
  require<UsageError>(window.first_step >= 1 && window.last_step >= window.first_step,
                      "[timeline] expects a first step of at least 1 and no last step before it, got ",
                      window.first_step, " to ", window.last_step);
  TraceRings& all = trace_rings();
  const std::lock_guard lock(all.mutex);
  require<UsageError>(!all.is_recording, "[timeline] this process is already being recorded");
  for (const auto& ring : all.rings) ring->discard();
  all.is_recording = true;
  all.window = window;
  trace_state.store(window.first_step > 1 ? TraceState::waiting : TraceState::on, std::memory_order_relaxed);
}

TraceRecorder::~TraceRecorder() {
  stop();
}

void TraceRecorder::stop() {
  TraceRings& all = trace_rings();
  const std::lock_guard lock(all.mutex);
  all.is_recording = false;
  trace_state.store(TraceState::off, std::memory_order_relaxed);
}

void TraceRecorder::drain(const Visitor& visit) {
  TraceRings& all = trace_rings();
  std::vector<std::shared_ptr<TraceRing>> rings, ended;
  {
    const std::lock_guard lock(all.mutex);
    rings = all.rings;
    // What a closed ring still holds is drained below, for the last time.
    std::erase_if(all.rings, [&](const auto& ring) {
      if (!ring->is_closed()) return false;
      ended.push_back(ring);
      return true;
    });
  }
  for (const auto& ring : rings) drain_ring(*ring, visit);
  const std::lock_guard lock(all.mutex);
  for (const auto& ring : ended) all.free_ids.emplace_back(ring->name(), ring->id());
}

/// Scopes that began before the recorder did are not its own.
void TraceRecorder::drain_ring(TraceRing& ring, const Visitor& visit) const {
  ring.drain([&](const TraceThread& thread, std::span<const TraceEvent> events) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].begin >= begin_) continue;
      if (i > first) visit(thread, events.subspan(first, i - first));
      first = i + 1;
    }
    if (first < events.size() || thread.lost > 0) visit(thread, events.subspan(first));
  });
}

}  // namespace ronde::inline v0
