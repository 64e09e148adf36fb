/// NodeGroup: what the ranks of one node share besides their data: a place to meet, a slot for each rank in
/// which it says what it brings, and a stage for each rank through which other memory goes.
///
/// Note [Shared stages]: a rank writes its stage, arrives, and then reads the others' stages. Three stages
/// take turns: what was written at turn t is last read before the ranks arrive for turn t + 2, so turn t + 3
/// may overwrite it, and no operation has to end with another meeting to protect them.
///
/// Each rank has a NodeGroup of its own over the same region, used by one thread at a time. A rank that
/// destroys it has left; others that still wait for it, or start to, get a CollectiveError.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shm/peer_watch.h"
#include "shm/shared_region.h"

namespace ronde::inline v0 {

class NodeGroup {
 public:
  static constexpr std::int64_t kStageBytes = 128 << 10;
  static constexpr int kStages = 3;

  /// A byte of shared memory number `share`; -1: elsewhere.
  struct Spot {
    std::int64_t share = -1;
    std::int64_t offset = 0;
  };
  /// Where a rank's buffers lie, and the bytes of what is largest of that which it sends to one rank.
  struct Operand {
    Spot in, out;
    std::int64_t largest = 0;
  };

  struct alignas(64) Slot {
    std::int64_t numbers[2] = {0, 0};
    std::int64_t notices[2] = {0, 0};
    Operand operands[2];
    bool is_summed = false;  // of rank 0's slot: the last to arrive has made the sum that was announced
    std::int32_t color = 0, key = 0;
    char error[128] = {};  // why the last attempt to share memory failed; empty: it did not
    SharedRegion::Ticket ticket;
  };

  static std::int64_t bytes_for(int size);
  /// `region` holds bytes_for(size); `processes`: their numbers, by rank. `idle` is called now and then while
  /// this rank waits; it may throw.
  NodeGroup(std::shared_ptr<SharedRegion> region, int rank, std::vector<int> processes,
            std::function<void()> idle);
  ~NodeGroup();
  NodeGroup(const NodeGroup&) = delete;
  NodeGroup& operator=(const NodeGroup&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int process(int rank) const { return processes_[static_cast<std::size_t>(rank)]; }
  SharedRegion::Kind kind() const { return region_->kind(); }
  Slot& slot(int rank) const;
  Slot& own_slot() const { return slot(rank_); }
  /// Of rank `rank` at a turn; page-aligned.
  char* stage(int rank, std::uint64_t turn) const;

  /// Throws when a rank has left or died: then nobody may write what others perhaps still read.
  void check_peers() const;
  /// Waits until all ranks are here: awake for moments, then asleep. What each wrote before, all see after.
  /// Throws when a rank has left or died. The last to arrive calls `last` before the others go on; it must
  /// not throw.
  void arrive(const std::function<void()>& last = nullptr);

 private:
  struct Header;
  Header& header() const;
  void sleep_through(std::uint32_t generation);
  void look_around();
  void mark_gone(std::int32_t mark);
  [[noreturn]] void throw_gone(std::int32_t mark) const;

  std::shared_ptr<SharedRegion> region_;
  int rank_;
  std::vector<int> processes_;
  int size_;
  std::function<void()> idle_;
  double eager_;                      // seconds awake
  std::unique_ptr<PeerWatch> watch_;  // from the first long wait on
};

}  // namespace ronde::inline v0
