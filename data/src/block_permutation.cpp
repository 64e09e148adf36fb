#include <ronde/data/block_permutation.h>

#include <algorithm>

#include <ronde/core/error.h>
#include <ronde/core/philox.h>

namespace ronde::inline v0 {
namespace {

std::uint64_t key_of(std::uint64_t seed, const char* purpose) {
  return random_key(seed, hash_name(purpose));
}

}  // namespace

BlockPermutation::BlockPermutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t size,
                                   BlockPermutationOptions options)
    : seed_(key_of(seed, "window permutation")),
      epoch_(epoch),
      size_(size),
      block_(std::clamp<std::int64_t>(options.block, 1, std::max<std::int64_t>(size, 1))),
      window_(size),
      whole_(size / block_),
      short_at_(size),
      order_(key_of(seed, "block permutation"), epoch, std::max<std::int64_t>(whole_, 1)) {
  require(size >= 1 && options.block >= 1 && options.window >= 1,
          "[block_permutation] expects a size, a block and a window of at least 1, got ", size, ", ",
          options.block, " and ", options.window);
  if (options.window < whole_) window_ = options.window * block_;
  // A short block goes before any of the others or behind all of them.
  const std::uint64_t word = mix64(random_key(key_of(seed, "short block"), epoch));
  short_at_ = static_cast<std::int64_t>(word % static_cast<std::uint64_t>(whole_ + 1)) * block_;
}

/// The sample at a place of the shuffled blocks, one behind the other.
std::int64_t BlockPermutation::in_block_order(std::int64_t place) const {
  const std::int64_t short_size = size_ - whole_ * block_;
  if (place >= short_at_) {
    place -= short_size;
    if (place < short_at_) return whole_ * block_ + (place + short_size - short_at_);
  }
  return order_(place / block_) * block_ + place % block_;
}

std::int64_t BlockPermutation::operator()(std::int64_t position) const {
  const std::int64_t window = position / window_, first = window * window_;
  const Permutation within(random_key(seed_, static_cast<std::uint64_t>(window)), epoch_,
                           std::min(window_, size_ - first));
  return in_block_order(first + within(position - first));
}

}  // namespace ronde::inline v0
