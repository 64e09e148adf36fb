/// FlightRecorder: what a rank did last, and what it does now.
///
///     FlightRecorder recorder(rank);
///     const auto world = recorder.join("world");          // one for each communicator
///     world->arrive({.verb = "allreduce", .bytes = 1024});  // this rank is there
///     world->met();                                       // so are all others: data moves
///     world->leave();                                     // done
///
/// A ring of the last operations of each communicator, in memory that was taken at the start. Operations of a
/// communicator are numbered from 1, in the order that all its ranks share, so equal numbers are the same
/// operation. An operation costs two uncontended locks and three readings of the clock.
///
/// Thread safety: the operations of one communicator come from one thread at a time; all else from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ronde/distributed/heartbeat.h>
#include <ronde/distributed/watchdog.h>

#include "watchdog/progress_board.h"

namespace ronde::inline v0 {

/// One operation; times in nanoseconds of the steady clock, 0: not yet.
struct RecordedOperation {
  std::int64_t sequence = 0;
  std::string verb = {};
  std::string name = {};
  const char* label = nullptr;  ///< what it is for, "bucket 2: dense/kernel"; lives for ever
  std::int64_t bytes = 0;
  std::int64_t arrived = 0, met = 0, left = 0;
};

/// "allreduce #12 of bucket 2: dense/kernel, dense/bias (1.2 MB)"
std::string describe(const RecordedOperation& operation);

class FlightRecorder {
 public:
  static constexpr std::size_t kOperations = 128;  // of each communicator

  class Group {
   public:
    Group(FlightRecorder& recorder, std::string name);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    void arrive(RecordedOperation operation);
    void met() { met_.store(now(), std::memory_order_relaxed); }
    void leave();

   private:
    friend class FlightRecorder;
    FlightRecorder& recorder_;
    std::string name_;
    std::uint64_t id_;
    std::vector<RecordedOperation> ring_;
    std::int64_t sequence_ = 0;
    bool is_inside_ = false;
    std::atomic<std::int64_t> met_ = 0;
  };

  /// An operation that has not ended.
  struct Pending {
    std::string group;
    std::uint64_t id = 0;
    RecordedOperation operation;
  };
  /// Work of this rank alone that should end some day.
  struct Phase {
    WatchedWork work = WatchedWork::none;
    std::int64_t number = 0;  ///< of the phase; 0: none
  };

  FlightRecorder();

  /// Operations of a communicator; `name` is the same on all its ranks. Outlived by the recorder.
  std::unique_ptr<Group> join(const std::string& name) { return std::make_unique<Group>(*this, name); }
  void begin_phase(WatchedWork work);
  void end_phase();
  void begin_step(std::int64_t step);
  /// An update by an optimizer that has made `updates` before: a step, unless `begin_step` tells them.
  void count_update(std::int64_t updates);
  void count_batch();

  /// From now on the other ranks of the node see this rank's progress there. `keep` is kept as long.
  void publish_in(ProgressSlot& slot, std::shared_ptr<const void> keep);

  /// Also there, for who supervises the job.
  void beat_in(std::shared_ptr<HeartbeatSlot> slot);
  /// This rank's watchdog is awake.
  void beat();
  /// This rank's watchdog waits for what may take any time; so should who supervises.
  void begin_pause();
  void end_pause();

  std::vector<Pending> pending() const;
  Phase phase() const;
  /// The rings, for people to read: a line for each operation, oldest first.
  std::string dump() const;

  static std::int64_t now();

 private:
  // With the mutex.
  void set_step(std::int64_t step);
  ProgressSlot* slot() const { return slot_.load(std::memory_order_acquire); }

  mutable std::mutex mutex_;
  std::list<Group*> groups_;
  ProgressSlot own_slot_;
  std::atomic<ProgressSlot*> slot_{&own_slot_};
  std::shared_ptr<const void> keep_;
  std::shared_ptr<HeartbeatSlot> heartbeat_;
  WatchedWork work_ = WatchedWork::none;
  std::int64_t phases_ = 0;
  bool is_told_steps_ = false;  // by `begin_step`
};

}  // namespace ronde::inline v0
