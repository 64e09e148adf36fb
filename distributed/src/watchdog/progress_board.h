/// ProgressBoard: how far each rank of a node has come, in memory that they share, for whoever wants to know
/// which of them the others wait for. A rank writes its own slot only; writing is a few stores.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <ronde/distributed/watchdog.h>

namespace ronde::inline v0 {

/// Zeros are its initial state: there is nobody.
struct alignas(64) ProgressSlot {
  static constexpr std::size_t kGroups = 64;
  struct Group {
    std::atomic<std::uint64_t> id;       // of a communicator; 0: unused
    std::atomic<std::int64_t> sequence;  // of the last operation that this rank has come to
  };

  std::atomic<std::int32_t> process;  // 0: not yet
  std::atomic<std::int64_t> beat;     // when its watchdog was awake last; nanoseconds of the steady clock
  std::atomic<std::int64_t> step;     // of the training, from 1
  std::array<Group, kGroups> groups;
  std::atomic<WatchedWork> work;  // that it is in
  std::atomic<bool> is_crowded;   // some communicator of this rank has found no place

  void set_sequence(std::uint64_t id, std::int64_t sequence);
  void drop(std::uint64_t id);
  /// -1: it does not know this communicator.
  std::int64_t sequence_of(std::uint64_t id) const;
};

/// The one alarm of a node. Whoever comes first writes it; all read it.
struct alignas(64) ProgressAlarm {
  enum State : std::int32_t { none, writing, raised, printed };
  std::atomic<std::int32_t> state;
  std::atomic<std::int32_t> dumped;   // ranks that have written what they did last
  std::atomic<std::int32_t> speaker;  // index of the rank that prints the message
  std::array<char, 2048> text;
};

class ProgressBoard {
 public:
  static std::int64_t bytes_for(std::size_t ranks);
  /// Over zeroed memory of bytes_for(ranks.size()), which somebody else keeps. `ranks`: those of this node,
  /// in the communicator whose board it is.
  ProgressBoard(void* memory, std::vector<int> ranks, std::size_t own);

  std::size_t size() const { return ranks_.size(); }
  std::size_t own() const { return own_; }
  int rank(std::size_t index) const { return ranks_[index]; }
  ProgressSlot& slot(std::size_t index) const;
  ProgressAlarm& alarm() const;

 private:
  void* memory_;
  std::vector<int> ranks_;
  std::size_t own_;
};

}  // namespace ronde::inline v0
