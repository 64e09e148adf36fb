/// Philox4x32-10: random bits as a pure function of (key, counter), the same on every device and any thread.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace ronde::inline v0 {

using Philox4 = std::array<std::uint32_t, 4>;

/// Four random words for a 64-bit key and a 128-bit counter.
constexpr Philox4 philox(std::uint64_t key, Philox4 counter) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// A bijective scramble of 64 bits (SplitMix64's finaliser).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A key for one purpose (a layer, an augmentation, a permutation) of a run.
constexpr std::uint64_t random_key(std::uint64_t seed, std::uint64_t purpose) {
  return mix64(mix64(seed) ^ purpose);
}

/// FNV-1a: turns a name into a purpose.
constexpr std::uint64_t hash_name(std::string_view name) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

/// The bits of elements 4 * block .. 4 * block + 3 of a sample in an epoch.
/// Distinct for any sample and for epochs and blocks below 2^32.
constexpr Philox4 sample_bits(std::uint64_t key, std::uint64_t sample, std::uint64_t epoch,
                              std::uint64_t block) {
  return philox(key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(sample),
                      static_cast<std::uint32_t>(sample >> 32), static_cast<std::uint32_t>(epoch)});
}

/// Uniform in [0, 1) with 24 bits.
constexpr float uniform_float(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
/// Uniform in [0, 1) with 53 bits.
constexpr double uniform_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}
/// Standard normal. Source: Box, Muller, "A note on the generation of random normal deviates", 1958; 1 - u is
/// never 0.
inline double normal_double(const Philox4& words) {
  return std::sqrt(-2.0 * std::log(1.0 - uniform_double(words[0], words[1]))) *
         std::cos(2.0 * std::numbers::pi * uniform_double(words[2], words[3]));
}

}  // namespace ronde::inline v0
