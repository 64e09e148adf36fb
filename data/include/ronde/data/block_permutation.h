/// BlockPermutation: a random order for data that lie on a disk in blocks. Neighbours in it come from a few
/// blocks at a time, so that the disk is read in large pieces and what is read fits into memory.
///
///     BlockPermutation order(seed, epoch, size, {.block = packed.block_size()});
///     order(0), order(1), ...        // every sample once
///
/// The blocks are put into a random order; in it every window of `window` blocks is shuffled as a whole. Like
/// Permutation it is a bijection whose every value is computed on its own from (seed, epoch, position).
#pragma once

#include <cstdint>

#include <ronde/data/sampler.h>

namespace ronde::inline v0 {

struct BlockPermutationOptions {
  std::int64_t block = 1;    ///< samples of a block, at least 1; the last block may be shorter
  std::int64_t window = 64;  ///< blocks that are mixed with each other, at least 1
};

class RONDE_API BlockPermutation {
 public:
  /// size >= 1
  BlockPermutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t size,
                   BlockPermutationOptions options);
  std::int64_t operator()(std::int64_t position) const;

 private:
  std::int64_t in_block_order(std::int64_t place) const;

  std::uint64_t seed_, epoch_;
  std::int64_t size_, block_, window_;  // in samples
  std::int64_t whole_;                  // number of blocks that are not short
  std::int64_t short_at_;               // the place of the short block's first sample
  Permutation order_;                   // of the whole blocks
};

}  // namespace ronde::inline v0
