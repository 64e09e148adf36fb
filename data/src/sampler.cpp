#include <ronde/data/sampler.h>

#include <algorithm>
#include <optional>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/data/block_permutation.h>

namespace ronde::inline v0 {
namespace {

/// In which order a pass takes the samples.
class Order {
 public:
  Order(const SamplerOptions& options, std::int64_t pass)
      : shuffle_(options.shuffle), whole_(options.seed, static_cast<std::uint64_t>(pass), options.size) {
    if (options.shuffle_block > 0)
      blocks_.emplace(options.seed, static_cast<std::uint64_t>(pass), options.size,
                      BlockPermutationOptions{options.shuffle_block, options.shuffle_window});
  }
  std::int64_t operator()(std::int64_t position) const {
    if (!shuffle_) return position;
    return blocks_ ? (*blocks_)(position) : whole_(position);
  }

 private:
  bool shuffle_;
  Permutation whole_;
  std::optional<BlockPermutation> blocks_;
};

}  // namespace

ShardedSampler::ShardedSampler(SamplerOptions options) : options_(options) {
  require<UsageError>(options.size >= 1, "[sampler] expects at least 1 sample, got ", options.size);
  require<UsageError>(options.global_batch >= 1, "[sampler] expects a global batch of at least 1, got ",
                      options.global_batch);
  require<UsageError>(options.passes >= 1, "[sampler] expects at least 1 pass an epoch, got ",
                      options.passes);
  require<UsageError>(options.first_pass >= 0, "[sampler] first_pass must not be negative, got ",
                      options.first_pass);
  require<UsageError>(
      options.shuffle_block >= 0 && options.shuffle_window >= 1,
      "[sampler] expects a shuffle_block of at least 0 and a shuffle_window of at least 1, got ",
      options.shuffle_block, " and ", options.shuffle_window);
  require<UsageError>(options.rank >= 0 && options.rank < options.world_size, "[sampler] rank ", options.rank,
                      " of ", counted(options.world_size, "rank"));
  require<UsageError>(options.virtual_shards >= 0, "[sampler] virtual_shards must not be negative, got ",
                      options.virtual_shards);
  if (options.virtual_shards > 0)
    shards_ = VirtualShards(options.virtual_shards, options.rank, options.world_size);
}

std::int64_t ShardedSampler::epoch_size() const {
  return product_or_most(options_.passes, options_.size);
}

std::int64_t ShardedSampler::steps_per_epoch() const {
  if (options_.repeat) return std::max<std::int64_t>(1, epoch_size() / options_.global_batch);
  return ceil_divide(epoch_size(), options_.global_batch);
}

std::int64_t ShardedSampler::first_position(std::int64_t step) const {
  if (options_.repeat) return step * options_.global_batch;
  const std::int64_t steps = steps_per_epoch();
  return step / steps * epoch_size() + step % steps * options_.global_batch;
}

std::int64_t ShardedSampler::global_count(std::int64_t step) const {
  if (options_.repeat) return options_.global_batch;
  return std::min(options_.global_batch, epoch_size() - first_position(step) % epoch_size());
}

std::int64_t ShardedSampler::passes_begun(std::int64_t steps) const {
  const std::int64_t positions = steps == 0 ? 0 : first_position(steps - 1) + global_count(steps - 1);
  return options_.first_pass + positions / options_.size + (positions % options_.size != 0);
}

std::int64_t ShardedSampler::max_count() const {
  if (shards_.total > 0) return shards_.own_size(global_count(0));
  return ceil_divide<std::int64_t>(global_count(0) - options_.rank, options_.world_size);
}

std::vector<SampleKey> ShardedSampler::samples(std::int64_t step) const {
  std::vector<SampleKey> keys;
  samples(step, keys);
  return keys;
}

void ShardedSampler::samples(std::int64_t step, std::vector<SampleKey>& keys) const {
  require(step >= 0, "[sampler] expects a step of at least 0, got ", step);
  keys.clear();
  const std::int64_t first = first_position(step), end = first + global_count(step);
  std::int64_t pass = first / options_.size;
  Order order(options_, options_.first_pass + pass);
  const auto take_every = [&](std::int64_t stride, std::int64_t offset) {
    for (std::int64_t p = first + offset; p < end; p += stride) {
      if (p / options_.size != pass) {
        pass = p / options_.size;
        order = Order(options_, options_.first_pass + pass);
      }
      keys.push_back({order(p % options_.size), options_.first_pass + pass});
    }
  };
  if (shards_.total == 0) return take_every(options_.world_size, options_.rank);
  for (int shard = shards_.first; shard < shards_.last; ++shard) take_every(shards_.total, shard);
}

}  // namespace ronde::inline v0
