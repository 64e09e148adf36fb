#include <ronde/data/sampler.h>

#include <algorithm>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

ShardedSampler::ShardedSampler(SamplerOptions options) : options_(options) {
  require<UsageError>(options.size >= 1, "[sampler] expects at least 1 sample, got ", options.size);
  require<UsageError>(options.global_batch >= 1, "[sampler] expects a global batch of at least 1, got ",
                      options.global_batch);
  require<UsageError>(options.rank >= 0 && options.rank < options.world_size, "[sampler] rank ", options.rank,
                      " of ", options.world_size, " ranks");
}

std::int64_t ShardedSampler::steps_per_epoch() const {
  if (options_.repeat) return std::max<std::int64_t>(1, options_.size / options_.global_batch);
  return ceil_div(options_.size, options_.global_batch);
}

std::int64_t ShardedSampler::first_position(std::int64_t step) const {
  if (options_.repeat) return step * options_.global_batch;
  const std::int64_t steps = steps_per_epoch();
  return step / steps * options_.size + step % steps * options_.global_batch;
}

std::int64_t ShardedSampler::global_count(std::int64_t step) const {
  if (options_.repeat) return options_.global_batch;
  return std::min(options_.global_batch, options_.size - first_position(step) % options_.size);
}

std::int64_t ShardedSampler::max_count() const {
  return ceil_div(global_count(0) - options_.rank, options_.world_size);
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
  std::int64_t epoch = first / options_.size;
  const auto order_of = [&](std::int64_t pass) {
    return Permutation(options_.seed, static_cast<std::uint64_t>(pass), options_.size);
  };
  Permutation order = order_of(epoch);
  for (std::int64_t p = first + options_.rank; p < end; p += options_.world_size) {
    if (p / options_.size != epoch) order = order_of(epoch = p / options_.size);
    const std::int64_t position = p % options_.size;
    keys.push_back({options_.shuffle ? order(position) : position, epoch});
  }
}

}  // namespace ronde::inline v0
