#include <bit>
#include <utility>

#include <ronde/core/error.h>
#include <ronde/core/philox.h>
#include <ronde/data/sampler.h>

namespace ronde::inline v0 {

// A balanced Feistel network is a bijection of 2 * half_bits_ bits whatever its round function is. That
// domain is less than four times the size; walking the cycle until it is back in range keeps it a bijection.

Permutation::Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t size)
    : key_(random_key(random_key(seed, hash_name("permutation")), epoch)), size_(size) {
  require(size >= 1 && size <= std::int64_t{1} << 60, "[permutation] expects a size of at least 1, got ",
          size);
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1)));
  half_bits_ = (bits + 1) / 2;
}

std::int64_t Permutation::operator()(std::int64_t position) const {
  constexpr std::uint64_t kRounds = 8;  // four look random on wide words, narrow ones need more
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto x = static_cast<std::uint64_t>(position);
  do {
    std::uint64_t left = x >> half_bits_, right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round)
      left = std::exchange(right, left ^ (mix64(key_ ^ (round << 32 | right) * 0xD1342543DE82EF95u) & mask));
    x = left << half_bits_ | right;
  } while (x >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(x);
}

}  // namespace ronde::inline v0
