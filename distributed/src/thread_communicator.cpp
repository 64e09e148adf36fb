#include <ronde/distributed/thread_communicator.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <tuple>

#include "collectives/queued_communicator.h"
#include "transport/rank_left.h"
#include "transport/reduction.h"

namespace ronde::inline v0 {
namespace {

// What the ranks of one group share. A rank publishes in its own slot, arrives, and then reads the others'.
class ThreadGroup {
 public:
  struct Slot {
    // Meetings alternate between two numbers: a fast rank may be at the next meeting while a slow one still
    // reads the numbers of this one, but never two ahead.
    std::int64_t number[2] = {0, 0};
    std::int64_t notice[2] = {0, 0};
    void* out = nullptr;
    const void* in = nullptr;
    const std::int64_t* offsets = nullptr;  // alltoallv: of each rank's part of `in`
    int color = 0;
    int key = 0;
  };

  explicit ThreadGroup(int size) : slots_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(slots_.size()); }
  Slot& slot(int rank) { return slots_[static_cast<std::size_t>(rank)]; }

  // Sleeps until all ranks are here; throws when one of them left.
  void arrive() {
    std::unique_lock lock(mutex_);
    if (left_ >= 0) throw_left();
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++generation_;
      changed_.notify_all();
      return;
    }
    const std::int64_t generation = generation_;
    changed_.wait(lock, [&] { return generation_ != generation || left_ >= 0; });
    if (generation_ == generation) throw_left();
  }

  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    if (left_ < 0 || rank < left_) left_ = rank;
    changed_.notify_all();
  }

  // New groups of a split, found by color; made by whoever comes first.
  std::shared_ptr<ThreadGroup> subgroup(int color, int size) {
    const std::lock_guard lock(mutex_);
    auto found = std::find_if(subgroups_.begin(), subgroups_.end(),
                              [&](const Subgroup& s) { return s.color == color; });
    if (found == subgroups_.end()) {
      subgroups_.push_back({color, 0, std::make_shared<ThreadGroup>(size)});
      found = subgroups_.end() - 1;
    }
    const std::shared_ptr<ThreadGroup> group = found->group;
    if (++found->taken == size) subgroups_.erase(found);
    return group;
  }

 private:
  [[noreturn]] void throw_left() const { throw RankLeft(left_); }

  struct Subgroup {
    int color;
    int taken;
    std::shared_ptr<ThreadGroup> group;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int left_ = -1;
  std::int64_t generation_ = 0;
  std::vector<Slot> slots_;
  std::vector<Subgroup> subgroups_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~ThreadTransport() override { group_->leave(rank_); }

  std::string name() const override { return "thread"; }
  Place place() const override { return {rank_, size(), rank_, size(), 0, 1}; }

  bool meet(std::int64_t number, std::int64_t& notice, const Announcement& next) override;
  void allreduce(void* data, std::int64_t count, DType dtype, Reduction op) override;
  void broadcast(void* data, std::int64_t bytes, int root) override;
  void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) override;
  bool is_independent() const override { return true; }
  void reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts, DType dtype,
                      Reduction op) override;
  void alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                 const std::vector<std::int64_t>& in_bytes) override;
  std::unique_ptr<Transport> split(int color, int key) override;

 private:
  int size() const { return group_->size(); }
  void publish(void* out, const void* in) {
    group_->slot(rank_).out = out;
    group_->slot(rank_).in = in;
    group_->arrive();
  }
  std::vector<const void*> inputs() const {
    std::vector<const void*> all;
    for (int r = 0; r < size(); ++r) all.push_back(group_->slot(r).in);
    return all;
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  int parity_ = 0;
};

// memcpy does not take null pointers, which empty tensors have, nor a buffer for its own copy.
void copy_bytes(void* to, std::int64_t offset, const void* from, std::int64_t from_offset,
                std::int64_t bytes) {
  if (bytes == 0 || static_cast<char*>(to) + offset == static_cast<const char*>(from) + from_offset) return;
  std::memcpy(static_cast<char*>(to) + offset, static_cast<const char*>(from) + from_offset,
              static_cast<std::size_t>(bytes));
}

bool ThreadTransport::meet(std::int64_t number, std::int64_t& notice, const Announcement&) {
  parity_ ^= 1;
  group_->slot(rank_).number[parity_] = number;
  group_->slot(rank_).notice[parity_] = notice;
  group_->arrive();
  bool is_agreed = true;
  for (int r = 0; r < size(); ++r) {
    is_agreed &= group_->slot(r).number[parity_] == number;
    notice = std::max(notice, group_->slot(r).notice[parity_]);
  }
  return is_agreed;
}

// Each rank reduces one slice of all ranks' buffers, in rank order, and writes it to all of them.
void ThreadTransport::allreduce(void* data, std::int64_t count, DType dtype, Reduction op) {
  publish(data, data);
  std::vector<void*> outs;
  for (int r = 0; r < size(); ++r) outs.push_back(group_->slot(r).out);
  const std::int64_t begin = count * rank_ / size();
  reduce(outs, begin, inputs(), begin, count * (rank_ + 1) / size(), dtype, op);
  group_->arrive();
}

void ThreadTransport::broadcast(void* data, std::int64_t bytes, int root) {
  publish(data, data);
  if (rank_ != root) copy_bytes(data, 0, group_->slot(root).in, 0, bytes);
  group_->arrive();
}

void ThreadTransport::allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) {
  publish(out, in);
  std::int64_t offset = 0;
  for (int r = 0; r < size(); ++r) {
    const std::int64_t length = bytes[static_cast<std::size_t>(r)];
    copy_bytes(out, offset, group_->slot(r).in, 0, length);
    offset += length;
  }
  group_->arrive();
}

void ThreadTransport::reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts,
                                     DType dtype, Reduction op) {
  publish(out, in);
  const auto own = counts.begin() + rank_;
  const std::int64_t begin = std::accumulate(counts.begin(), own, std::int64_t{0});
  reduce({out}, 0, inputs(), begin, begin + *own, dtype, op);
  group_->arrive();
}

// Where a rank's part begins in another's buffer, only that one knows: it tells in `offsets`.
void ThreadTransport::alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                                const std::vector<std::int64_t>& in_bytes) {
  std::vector<std::int64_t> offsets(in_bytes.size());
  std::exclusive_scan(in_bytes.begin(), in_bytes.end(), offsets.begin(), std::int64_t{0});
  group_->slot(rank_).offsets = offsets.data();
  publish(out, in);
  std::int64_t offset = 0;
  for (int r = 0; r < size(); ++r) {
    const ThreadGroup::Slot& from = group_->slot(r);
    const std::int64_t bytes = out_bytes[static_cast<std::size_t>(r)];
    copy_bytes(out, offset, from.in, from.offsets[rank_], bytes);
    offset += bytes;
  }
  group_->arrive();
}

std::unique_ptr<Transport> ThreadTransport::split(int color, int key) {
  group_->slot(rank_).color = color;
  group_->slot(rank_).key = key;
  group_->arrive();
  int members = 0;
  int new_rank = 0;
  for (int r = 0; r < size(); ++r) {
    const ThreadGroup::Slot& other = group_->slot(r);
    if (other.color != color) continue;
    ++members;
    if (std::tie(other.key, r) < std::tie(key, rank_)) ++new_rank;
  }
  std::unique_ptr<Transport> part;
  if (color >= 0) part = std::make_unique<ThreadTransport>(group_->subgroup(color, members), new_rank);
  group_->arrive();
  return part;
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int size) {
  require<UsageError>(size >= 1, "[distributed] expects at least 1 rank, got ", size);
  const auto group = std::make_shared<ThreadGroup>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < size; ++r) {
    ranks.push_back(std::make_unique<QueuedCommunicator>(std::make_unique<ThreadTransport>(group, r),
                                                         std::make_shared<WorkerThread>()));
  }
  return ranks;
}

}  // namespace ronde::inline v0
