/// ShardedSampler: which samples a rank takes in a step. A pure function of its options and the step, so any
/// rank can be resumed, moved or split at any time.
///
/// Position p of the endless stream is sample permutation(seed, first_pass + p / size)(p mod size). A step
/// takes the next `global_batch` positions; without `repeat` it stops at the end of an epoch, which is
/// `passes` passes, and the next step starts a new epoch. Of a step's positions a rank takes those whose
/// number within the step is congruent to its rank modulo the number of ranks, or, with virtual shards
/// (deterministic mode), those of its shards, shard by shard. So nothing is padded, dropped or taken twice,
/// shards may be unequal or empty, and the samples of a step do not depend on the number of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/core/export.h>
#include <ronde/data/virtual_shards.h>

namespace ronde::inline v0 {

/// A keyed bijection of [0, size): index(i) is computed on its own, nothing is stored.
class RONDE_API Permutation {
 public:
  /// size >= 1
  Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t size);
  std::int64_t operator()(std::int64_t position) const;

 private:
  std::uint64_t key_;
  std::int64_t size_;
  int half_bits_;
};

struct SamplerOptions {
  std::int64_t size = 0;  ///< samples in the data set
  std::int64_t global_batch = 32;
  int rank = 0;
  int world_size = 1;
  bool shuffle = true;  ///< false: every pass in the data set's order
  /// true: steps run across the end of a pass (tf.data's repeat().batch()); false: as Keras' fit.
  bool repeat = false;
  std::int64_t passes = 1;  ///< permutations of the data, one after the other, that make an epoch
  std::uint64_t seed = 0;
  /// What the passes are counted from, so that a training that follows another one takes new orders.
  std::int64_t first_pass = 0;
  /// Samples that lie together on a disk (`Dataset::block_size()`): shuffled by BlockPermutation. 0: each for
  /// itself.
  std::int64_t shuffle_block = 0;
  std::int64_t shuffle_window = 64;  ///< blocks that are mixed with each other
  int virtual_shards = 0;            ///< see VirtualShards; 0: none. Not less than world_size
};

/// One sample of a step: its index in the data set and the number of the pass over the data it belongs to.
struct SampleKey {
  std::int64_t sample = 0;
  std::int64_t epoch = 0;  ///< the pass, so that each pass gets its own dropout masks and augmentations
  bool operator==(const SampleKey&) const = default;
};

class RONDE_API ShardedSampler {
 public:
  explicit ShardedSampler(SamplerOptions options);
  const SamplerOptions& options() const { return options_; }
  /// Steps of one epoch; with repeat == true the number of whole batches, at least 1.
  std::int64_t steps_per_epoch() const;
  /// This rank's samples of global step `step` (0, 1, ... over all epochs); may be empty.
  std::vector<SampleKey> samples(std::int64_t step) const;
  /// The same, into memory of the caller.
  void samples(std::int64_t step, std::vector<SampleKey>& keys) const;
  /// The first pass that steps 0 ... `steps` - 1 take nothing of.
  std::int64_t passes_begun(std::int64_t steps) const;
  /// Number of samples of all ranks in `step`.
  std::int64_t global_count(std::int64_t step) const;
  /// This rank's; `total` is 0 when there are none.
  const VirtualShards& shards() const { return shards_; }
  /// The most samples this rank takes in a step.
  std::int64_t max_count() const;

 private:
  std::int64_t epoch_size() const;
  std::int64_t first_position(std::int64_t step) const;

  SamplerOptions options_;
  VirtualShards shards_;
};

}  // namespace ronde::inline v0
