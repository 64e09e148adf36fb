/// NodeTransport: collectives of the ranks of one node, through memory that they share.
///
/// Buffers in shared memory (`share`) are read by the ranks that need them, where they lie. Any other memory
/// goes through the ranks' stages, piece by piece: while a piece is copied in, the one before it is reduced,
/// and the one before that is copied out. Sums are taken in rank order, element by element, whichever way the
/// data go, so the bits do not depend on it.
///
/// Note [Ahead of a meeting]: to wait for each other costs ranks more than to move a few kilobytes, so a
/// meeting does part of what is announced for after it. Each rank says with it where its buffers lie, or puts
/// what is small on its stage. A sum of medium size, in shared memory, is made by the last rank to arrive,
/// for all of them: it waits for nobody, which is what a step's last bucket costs the slowest rank.
///
/// What it has done is in `ahead_`. `meet` sets it where all ranks agree; the call that it is good for takes
/// it, and finds `nothing` otherwise. What no call takes, as a small broadcast goes by stages anyway, is gone
/// with the next meeting.
///
///     ahead_          what is announced                          what each rank has done  taken by
///     staged          an all-reduce of up to 32 KB *             filled its stage         allreduce_small
///     buffers_known   any other call, with its buffers           said where they lie      exchange_buffers
///     summed          of those, an all-reduce of up to 1 MB *    got its sum              allreduce
///                     whose buffers lie in one share
///     nothing         a call without (alltoallv, several         nothing                  nobody
///                     tensors, what is scaled first)
///
///     * of all ranks together
///
/// Once made, it needs nothing of what started the ranks. It is independent of other transports.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shm/node_group.h"
#include "shm/node_shares.h"
#include "transport/transport.h"

namespace ronde::inline v0 {

class NodeTransport final : public Transport {
 public:
  /// What is done with the slice that this rank has reduced before all get it: `count` elements.
  using Between = std::function<void(void* slice, std::int64_t count)>;

  /// `name`: of the communicator, "mpi". `owner` is kept until the transport goes.
  NodeTransport(std::unique_ptr<NodeGroup> group, std::string name, std::shared_ptr<const void> owner);

  std::string name() const override { return name_; }
  Place place() const override { return {rank(), size(), rank(), size(), 0, 1}; }
  std::string description() const override;
  bool is_independent() const override { return true; }

  bool meet(std::int64_t number, std::int64_t& notice, const Announcement& next) override;
  void allreduce(void* data, std::int64_t count, DType dtype, Reduction op) override;
  void broadcast(void* data, std::int64_t bytes, int root) override;
  void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) override;
  void reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts, DType dtype,
                      Reduction op) override;
  void alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                 const std::vector<std::int64_t>& in_bytes) override;
  std::shared_ptr<void> share(std::int64_t bytes) override;
  std::unique_ptr<Transport> split(int color, int key) override;

  /// All-reduce in two levels: the first `slices` ranks reduce a slice each, do `between` with it, and hand
  /// it out. All of them call `between`, for empty slices too.
  void allreduce_between(void* data, std::int64_t count, DType dtype, Reduction op, int slices,
                         const Between& between);

 private:
  using Counts = std::vector<std::int64_t>;
  /// The ranks' buffers, where all of them lie in one share; else empty.
  struct Buffers {
    std::vector<char*> in, out;
    std::int64_t largest = 0;
  };

  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
  std::uint64_t parity() const { return meeting_ % 2; }
  char* stage(int r, std::uint64_t turn) const { return group_->stage(r, turn); }
  std::vector<const void*> stages(std::uint64_t turn) const;
  /// What of the announced operation the last meeting has done: Note [Ahead of a meeting].
  enum class Ahead { nothing, buffers_known, staged, summed };
  /// This rank's part of that, before it arrives.
  Ahead begin(const Announcement& next);
  /// Whether it did: for the last rank that arrives.
  bool sum_for_all(const Announcement& next);
  /// Where all ranks' buffers lie: waits for the others to say it, unless they have.
  Buffers exchange_buffers(const void* in, const void* out, std::int64_t largest = 0);
  Buffers known_buffers() const;
  /// For the one operation that was announced; what comes after it does all by itself.
  Ahead take_ahead() { return std::exchange(ahead_, Ahead::nothing); }

  // In node_stages.cpp.
  void allreduce_small(void* data, std::int64_t count, DType dtype, Reduction op);
  void allreduce_staged(char* data, std::int64_t count, DType dtype, Reduction op);
  void broadcast_staged(char* data, std::int64_t bytes, int root);
  void allgatherv_staged(char* out, const char* in, const Counts& bytes);
  void reduce_scatter_staged(char* out, const char* in, const Counts& counts, DType dtype, Reduction op);
  void alltoallv_staged(char* out, const Counts& out_bytes, const char* in, const Counts& in_bytes,
                        std::int64_t largest);

  // Before the group, so that the others hear that this rank leaves before its owner, MPI perhaps, waits for
  // them at its own end.
  std::shared_ptr<const void> owner_;
  std::unique_ptr<NodeGroup> group_;
  NodeShares shares_;
  std::string name_;
  std::uint64_t turn_ = 0;     // of the stages, equal on all ranks; see Note [Shared stages]
  std::uint64_t meeting_ = 0;  // number of the last one
  Ahead ahead_ = Ahead::nothing;
};

}  // namespace ronde::inline v0
