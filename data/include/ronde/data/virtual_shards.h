/// VirtualShards: how a global batch is cut in deterministic mode, and which parts a rank computes.
///
/// Sample k of a step belongs to shard k mod `total`, so shards differ by at most one sample and the first
/// ones are the last to be empty. A rank takes consecutive shards.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {

struct VirtualShards {
  int total = 0;            ///< 0: no virtual shards
  int first = 0, last = 0;  ///< this rank's are first ... last - 1

  VirtualShards() = default;
  /// Of `rank`: the floor or the ceiling of total / world_size shards, at least 1.
  VirtualShards(int shards, int rank, int world_size)
      : total(shards),
        first(first_of(shards, rank, world_size)),
        last(first_of(shards, rank + 1, world_size)) {
    require<UsageError>(world_size <= shards, "[virtual_shards] ", world_size, " ranks are more than the ",
                        counted(shards, "virtual shard"), " of a batch");
  }

  /// Samples in `shard` of a step that has `global_count`.
  std::int64_t size(int shard, std::int64_t global_count) const {
    return std::max<std::int64_t>(0, ceil_divide<std::int64_t>(global_count - shard, total));
  }
  /// Shards that have samples in such a step: 0 ... present - 1.
  int present(std::int64_t global_count) const {
    return static_cast<int>(std::min<std::int64_t>(total, global_count));
  }
  /// Samples of this rank in such a step.
  std::int64_t own_size(std::int64_t global_count) const {
    std::int64_t sum = 0;
    for (int shard = first; shard < last; ++shard) sum += size(shard, global_count);
    return sum;
  }

 private:
  static int first_of(int shards, int rank, int world_size) {
    return static_cast<int>(std::int64_t{shards} * rank / world_size);
  }
};

}  // namespace ronde::inline v0
