// The collectives of NodeTransport over memory that the ranks cannot see: through their stages. Every loop
// here runs over pieces and has the ranks arrive once per piece; see Note [Shared stages].
#include <algorithm>
#include <numeric>

#include <ronde/core/whole_numbers.h>

#include "shm/node_transport.h"
#include "shm/slices.h"
#include "transport/memory_copy.h"
#include "transport/reduction.h"

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kStageBytes = NodeGroup::kStageBytes;

// How much of `length` lies in piece k of `piece`.
std::int64_t length_in(std::int64_t length, std::int64_t k, std::int64_t piece) {
  return std::clamp<std::int64_t>(length - k * piece, 0, piece);
}

// A stage that is divided over the ranks: bytes of each part, whole cache lines.
std::int64_t stage_part(int ranks) {
  return std::max(kStageBytes / ranks / kCacheLine, std::int64_t{1}) * kCacheLine;
}

}  // namespace

void NodeTransport::allreduce_small(void* data, std::int64_t count, DType dtype, Reduction op) {
  const std::uint64_t turn = turn_++;
  if (take_ahead() != Ahead::staged) {
    copy_bytes(stage(rank(), turn), data, count * static_cast<std::int64_t>(size_of(dtype)));
    group_->arrive();
  }
  reduce({data}, 0, stages(turn), 0, count, dtype, op);
}

// Three things at a time with three pieces: piece k is copied in, this rank's slice of piece k - 1 is reduced
// into its own stage, and piece k - 2 is put together from all stages.
void NodeTransport::allreduce_staged(char* data, std::int64_t count, DType dtype, Reduction op) {
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t piece = kStageBytes / item;
  const std::int64_t pieces = ceil_divide(count, piece);
  const auto turn_of = [&](std::int64_t k) { return turn_ + static_cast<std::uint64_t>(k); };
  const auto begin_in = [&](std::int64_t k, int r) {
    return slice_begin(length_in(count, k, piece), r, size(), dtype);
  };
  const auto reduce_piece = [&](std::int64_t k) {
    reduce({stage(rank(), turn_of(k))}, begin_in(k, rank()), stages(turn_of(k)), begin_in(k, rank()),
           begin_in(k, rank() + 1), dtype, op);
  };
  const auto copy_out = [&](std::int64_t k) {
    for (int r = 0; r < size(); ++r) {
      const std::int64_t begin = begin_in(k, r) * item;
      copy_bytes(data + k * kStageBytes + begin, stage(r, turn_of(k)) + begin,
                 begin_in(k, r + 1) * item - begin);
    }
  };
  for (std::int64_t k = 0; k < pieces + 2; ++k) {
    if (k >= 2) copy_out(k - 2);
    if (k >= 1 && k <= pieces) reduce_piece(k - 1);
    if (k < pieces)
      copy_bytes(stage(rank(), turn_of(k)), data + k * kStageBytes, length_in(count, k, piece) * item);
    if (k <= pieces) group_->arrive();
  }
  turn_ += static_cast<std::uint64_t>(pieces);
}

void NodeTransport::broadcast_staged(char* data, std::int64_t bytes, int root) {
  const std::int64_t pieces = ceil_divide(bytes, kStageBytes);
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::uint64_t turn = turn_++;
    const std::int64_t length = length_in(bytes, k, kStageBytes);
    char* piece = data + k * kStageBytes;
    if (rank() == root) copy_bytes(stage(root, turn), piece, length);
    group_->arrive();
    if (rank() != root) copy_bytes(piece, stage(root, turn), length);
  }
}

void NodeTransport::allgatherv_staged(char* out, const char* in, const Counts& bytes) {
  const std::int64_t pieces = ceil_divide(*std::max_element(bytes.begin(), bytes.end()), kStageBytes);
  const std::int64_t own = bytes[static_cast<std::size_t>(rank())];
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::uint64_t turn = turn_++;
    if (length_in(own, k, kStageBytes) > 0)
      copy_bytes(stage(rank(), turn), in + k * kStageBytes, length_in(own, k, kStageBytes));
    group_->arrive();
    std::int64_t to = k * kStageBytes;
    for (int r = 0; r < size(); ++r) {
      const std::int64_t theirs = bytes[static_cast<std::size_t>(r)];
      const std::int64_t length = length_in(theirs, k, kStageBytes);
      if (length > 0) copy_bytes(out + to, stage(r, turn), length);
      to += theirs;
    }
  }
}

void NodeTransport::reduce_scatter_staged(char* out, const char* in, const Counts& counts, DType dtype,
                                          Reduction op) {
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t part = stage_part(size());
  const std::int64_t piece = part / item;
  const std::int64_t pieces = ceil_divide(*std::max_element(counts.begin(), counts.end()), piece);
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::uint64_t turn = turn_++;
    std::int64_t from = k * part;
    for (int r = 0; r < size(); ++r) {
      const std::int64_t theirs = counts[static_cast<std::size_t>(r)];
      const std::int64_t length = length_in(theirs, k, piece);
      if (length > 0) copy_bytes(stage(rank(), turn) + r * part, in + from, length * item);
      from += theirs * item;
    }
    group_->arrive();
    const std::int64_t length = length_in(counts[static_cast<std::size_t>(rank())], k, piece);
    if (length > 0)
      reduce({out + k * part}, 0, stages(turn), rank() * piece, rank() * piece + length, dtype, op);
  }
}

void NodeTransport::alltoallv_staged(char* out, const Counts& out_bytes, const char* in,
                                     const Counts& in_bytes, std::int64_t largest) {
  const std::int64_t part = stage_part(size());
  for (std::int64_t k = 0; k < ceil_divide(largest, part); ++k) {
    const std::uint64_t turn = turn_++;
    std::int64_t from = k * part;
    for (int r = 0; r < size(); ++r) {
      const std::int64_t theirs = in_bytes[static_cast<std::size_t>(r)];
      const std::int64_t length = length_in(theirs, k, part);
      if (length > 0) copy_bytes(stage(rank(), turn) + r * part, in + from, length);
      from += theirs;
    }
    group_->arrive();
    std::int64_t to = k * part;
    for (int r = 0; r < size(); ++r) {
      const std::int64_t theirs = out_bytes[static_cast<std::size_t>(r)];
      const std::int64_t length = length_in(theirs, k, part);
      if (length > 0) copy_bytes(out + to, stage(r, turn) + rank() * part, length);
      to += theirs;
    }
  }
}

}  // namespace ronde::inline v0
