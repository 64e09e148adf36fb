#include "shm/node_transport.h"

#include <algorithm>
#include <numeric>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>

#include "shm/slices.h"
#include "transport/memory_copy.h"
#include "transport/reduction.h"

namespace ronde::inline v0 {
namespace {

// Up to so many bytes of all ranks together, every rank reduces everything itself: work done several times
// takes less than waiting for the others once more.
constexpr std::int64_t kSmallBytes = 32 << 10;
// Up to so many, one rank reduces for all.
constexpr std::int64_t kMediumBytes = 1 << 20;

std::size_t index_of(int rank) {
  return static_cast<std::size_t>(rank);
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts, int first = 0, int last = -1) {
  const auto end = last < 0 ? counts.end() : counts.begin() + last;
  return std::accumulate(counts.begin() + first, end, std::int64_t{0});
}

}  // namespace

NodeTransport::NodeTransport(std::unique_ptr<NodeGroup> group, std::string name,
                             std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), group_(std::move(group)), name_(std::move(name)) {}

std::string NodeTransport::description() const {
  return cat("shared memory, ", counted(size(), "rank"));
}

// What ranks say takes turns in two places: a fast one may write its next words while a slow one still reads
// these.
bool NodeTransport::meet(std::int64_t number, std::int64_t& notice, const Announcement& next) {
  group_->check_peers();
  ++meeting_;
  group_->own_slot().numbers[parity()] = number;
  group_->own_slot().notices[parity()] = notice;
  const auto is_agreed = [&] {
    for (int r = 0; r < size(); ++r)
      if (group_->slot(r).numbers[parity()] != number) return false;
    return true;
  };
  const Ahead begun = begin(next);
  group_->arrive(
      [&] { group_->slot(0).is_summed = begun == Ahead::buffers_known && is_agreed() && sum_for_all(next); });
  for (int r = 0; r < size(); ++r) notice = std::max(notice, group_->slot(r).notices[parity()]);
  ahead_ = Ahead::nothing;
  if (!is_agreed()) return false;
  ahead_ = group_->slot(0).is_summed ? Ahead::summed : begun;
  return true;
}

// All of it can be done again if the ranks do not agree. The stage of this turn is nobody's yet: what others
// may still read lies on that of the turn before.
NodeTransport::Ahead NodeTransport::begin(const Announcement& next) {
  const std::int64_t bytes = next.count * static_cast<std::int64_t>(size_of(next.dtype));
  if (next.count > 0 && bytes * size() <= kSmallBytes) {
    copy_bytes(stage(rank(), turn_), next.in, bytes);
    return Ahead::staged;
  }
  if (!next.in && !next.out) return Ahead::nothing;
  group_->own_slot().operands[parity()] = {shares_.locate(next.in, rank()), shares_.locate(next.out, rank()),
                                           0};
  return Ahead::buffers_known;
}

bool NodeTransport::sum_for_all(const Announcement& next) {
  const std::int64_t bytes = next.count * static_cast<std::int64_t>(size_of(next.dtype));
  if (bytes == 0 || bytes * size() > kMediumBytes) return false;
  const std::vector<char*> data = known_buffers().in;
  if (data.empty()) return false;
  reduce({data.begin(), data.end()}, 0, {data.begin(), data.end()}, 0, next.count, next.dtype, next.op);
  return true;
}

std::vector<const void*> NodeTransport::stages(std::uint64_t turn) const {
  std::vector<const void*> all;
  for (int r = 0; r < size(); ++r) all.push_back(stage(r, turn));
  return all;
}

NodeTransport::Buffers NodeTransport::exchange_buffers(const void* in, const void* out,
                                                       std::int64_t largest) {
  if (take_ahead() != Ahead::buffers_known) {
    group_->own_slot().operands[parity()] = {shares_.locate(in, rank()), shares_.locate(out, rank()),
                                             largest};
    group_->arrive();
  }
  return known_buffers();
}

NodeTransport::Buffers NodeTransport::known_buffers() const {
  Buffers buffers;
  std::vector<NodeGroup::Spot> ins, outs;
  for (int r = 0; r < size(); ++r) {
    const NodeGroup::Operand& operand = group_->slot(r).operands[parity()];
    ins.push_back(operand.in);
    outs.push_back(operand.out);
    buffers.largest = std::max(buffers.largest, operand.largest);
  }
  buffers.in = shares_.addresses(ins);
  buffers.out = shares_.addresses(outs);
  return buffers;
}

void NodeTransport::allreduce(void* data, std::int64_t count, DType dtype, Reduction op) {
  const std::int64_t bytes = count * static_cast<std::int64_t>(size_of(dtype));
  if (ahead_ == Ahead::summed) {
    ahead_ = Ahead::nothing;
    return;
  }
  if (bytes * size() <= kSmallBytes) return allreduce_small(data, count, dtype, op);
  const Buffers buffers = exchange_buffers(data, nullptr);
  if (buffers.in.empty()) return allreduce_staged(static_cast<char*>(data), count, dtype, op);
  const std::int64_t begin = slice_begin(count, rank(), size(), dtype);
  const std::int64_t end = slice_begin(count, rank() + 1, size(), dtype);
  const std::vector<const void*> ins(buffers.in.begin(), buffers.in.end());
  const std::vector<void*> outs(buffers.in.begin(), buffers.in.end());
  reduce(outs, begin, ins, begin, end, dtype, op);
  group_->arrive();
}

void NodeTransport::allreduce_between(void* data, std::int64_t count, DType dtype, Reduction op, int slices,
                                      const Between& between) {
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  const Counts counts = slice_counts(count, slices, size(), dtype);
  const std::int64_t begin = slice_begin(count, rank(), slices, dtype);
  const std::int64_t length = counts[index_of(rank())];
  const Buffers buffers = exchange_buffers(data, nullptr);
  char* slice = static_cast<char*>(data) + begin * item;
  if (buffers.in.empty()) {
    auto* all = static_cast<char*>(data);
    reduce_scatter_staged(slice, all, counts, dtype, op);
    if (rank() < slices) between(slice, length);
    Counts bytes = counts;
    for (std::int64_t& b : bytes) b *= item;
    return allgatherv_staged(all, slice, bytes);
  }
  const std::vector<const void*> ins(buffers.in.begin(), buffers.in.end());
  reduce({data}, begin, ins, begin, begin + length, dtype, op);
  if (rank() < slices) between(slice, length);
  // Nobody else touches this slice of the others' buffers, so there is nothing to wait for.
  for (char* to : buffers.in) copy_bytes(to + begin * item, slice, length * item);
  group_->arrive();
}

void NodeTransport::broadcast(void* data, std::int64_t bytes, int root) {
  if (bytes <= NodeGroup::kStageBytes) return broadcast_staged(static_cast<char*>(data), bytes, root);
  const Buffers buffers = exchange_buffers(data, nullptr);
  if (buffers.in.empty()) return broadcast_staged(static_cast<char*>(data), bytes, root);
  copy_bytes(data, buffers.in[index_of(root)], bytes);
  group_->arrive();
}

void NodeTransport::allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) {
  auto* to = static_cast<char*>(out);
  const std::int64_t begin = sum_of(bytes, 0, rank());
  if (*std::max_element(bytes.begin(), bytes.end()) <= NodeGroup::kStageBytes)
    return allgatherv_staged(to, static_cast<const char*>(in), bytes);
  const Buffers buffers = exchange_buffers(in, out);
  if (!buffers.in.empty()) {
    for (int r = 0; r < size(); ++r) {
      copy_bytes(to, buffers.in[index_of(r)], bytes[index_of(r)]);
      to += bytes[index_of(r)];
    }
  } else if (!buffers.out.empty()) {
    for (char* other : buffers.out) copy_bytes(other + begin, in, bytes[index_of(rank())]);
  } else {
    return allgatherv_staged(to, static_cast<const char*>(in), bytes);
  }
  group_->arrive();
}

void NodeTransport::reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts,
                                   DType dtype, Reduction op) {
  const auto* from = static_cast<const char*>(in);
  const std::int64_t total = sum_of(counts) * static_cast<std::int64_t>(size_of(dtype));
  if (total <= kSmallBytes) return reduce_scatter_staged(static_cast<char*>(out), from, counts, dtype, op);
  const Buffers buffers = exchange_buffers(in, nullptr);
  if (buffers.in.empty()) return reduce_scatter_staged(static_cast<char*>(out), from, counts, dtype, op);
  const std::int64_t begin = sum_of(counts, 0, rank());
  const std::vector<const void*> ins(buffers.in.begin(), buffers.in.end());
  reduce({out}, 0, ins, begin, begin + counts[index_of(rank())], dtype, op);
  group_->arrive();
}

void NodeTransport::alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                              const std::vector<std::int64_t>& in_bytes) {
  // Each rank says on its stage where in its buffer the others find what is theirs.
  const std::uint64_t turn = turn_++;
  auto* begins = reinterpret_cast<std::int64_t*>(stage(rank(), turn));
  std::exclusive_scan(in_bytes.begin(), in_bytes.end(), begins, std::int64_t{0});
  const Buffers buffers = exchange_buffers(in, nullptr, *std::max_element(in_bytes.begin(), in_bytes.end()));
  auto* to = static_cast<char*>(out);
  if (buffers.in.empty()) {
    return alltoallv_staged(to, out_bytes, static_cast<const char*>(in), in_bytes, buffers.largest);
  }
  for (int r = 0; r < size(); ++r) {
    const std::int64_t begin = reinterpret_cast<const std::int64_t*>(stage(r, turn))[rank()];
    copy_bytes(to, buffers.in[index_of(r)] + begin, out_bytes[index_of(r)]);
    to += out_bytes[index_of(r)];
  }
  group_->arrive();
}

std::shared_ptr<void> NodeTransport::share(std::int64_t bytes) {
  return shares_.make(*group_, bytes);
}

std::unique_ptr<Transport> NodeTransport::split(int color, int key) {
  NodeGroup::Slot& own = group_->own_slot();
  own.color = color;
  own.key = key;
  group_->arrive();
  std::vector<int> members;
  for (int r = 0; r < size(); ++r) {
    if (group_->slot(r).color == color) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return group_->slot(a).key < group_->slot(b).key; });
  const auto part_size = static_cast<int>(members.size());
  const bool is_in = color >= 0;
  const bool is_first = is_in && members.front() == rank();
  std::string why_not;
  const auto regions =
      exchange_regions(*group_, is_first ? NodeGroup::bytes_for(part_size) : 0,
                       is_in ? std::vector<int>{members.front()} : std::vector<int>{}, why_not);
  require(why_not.empty(), why_not);
  if (!is_in) return nullptr;
  const auto part_rank =
      static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
  std::vector<int> processes;
  for (const int r : members) processes.push_back(group_->process(r));
  return std::make_unique<NodeTransport>(
      std::make_unique<NodeGroup>(regions.front(), part_rank, std::move(processes), nullptr), name_, owner_);
}

}  // namespace ronde::inline v0
