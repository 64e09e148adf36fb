/// TraceRing: the events of one thread on their way to the recorder. One thread pushes, one drains; neither
/// takes a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ronde/core/trace_recorder.h>

namespace ronde::inline v0 {

class TraceRing {
 public:
  TraceRing(int id, const char* name)
      : id_(id), name_(name), events_(std::make_unique_for_overwrite<Slot[]>(kSize)) {}

  void push(const TraceEvent& event) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == kSize) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    events_[head % kSize].event = event;
    head_.store(head + 1, std::memory_order_release);
  }

  /// Calls visit(thread, events), at most twice.
  void drain(const TraceRecorder::Visitor& visit);
  void discard() {
    tail_.store(head_.load(std::memory_order_acquire), std::memory_order_release);
    lost_.store(0, std::memory_order_relaxed);
  }
  /// By the thread, as it ends: nothing more comes.
  void close() { is_closed_.store(true, std::memory_order_release); }
  bool is_closed() const { return is_closed_.load(std::memory_order_acquire); }
  int id() const { return id_; }
  const char* name() const { return name_; }

 private:
  static constexpr std::uint64_t kSize = TraceRecorder::kRingEvents;
  // Without a constructor, so that memory no event has reached is never touched.
  union Slot {
    Slot() {}
    TraceEvent event;
  };

  const int id_;
  const char* const name_;
  const std::unique_ptr<Slot[]> events_;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<bool> is_closed_ = false;
  alignas(64) std::atomic<std::uint64_t> head_ = 0;  // next to push
  alignas(64) std::atomic<std::uint64_t> tail_ = 0;  // next to drain
};

/// All rings, and whether somebody records.
struct TraceRings {
  std::mutex mutex;  // guards all below
  std::vector<std::shared_ptr<TraceRing>> rings;
  int next_id = 0;
  std::vector<std::pair<const char*, int>> free_ids;  // of threads that ended, by name: the next one's row
  bool is_recording = false;
  TraceWindow window;
};

/// Never destroyed: threads may end after main has.
TraceRings& trace_rings();

}  // namespace ronde::inline v0
