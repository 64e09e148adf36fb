#include "training/hash64.h"

#include <array>
#include <cstring>

namespace ronde::inline v0 {

namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
constexpr std::size_t kWord = sizeof(std::uint64_t), kLanes = 4;

/// For a given `word` a bijection of `hash`, for a given `hash` one of `word`: what once differed goes on to.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  const std::uint64_t product = (hash ^ word) * kOdd;
  return product ^ product >> 32;
}

std::uint64_t load(const char* from, std::size_t bytes = kWord) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

}  // namespace

// Four chains, so that one multiplication need not wait for the one before it.
std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed) {
  const char* at = static_cast<const char*>(data);
  const char* const end = at + bytes;
  std::array<std::uint64_t, kLanes> lanes{seed, seed + 1, seed + 2, seed + 3};
  for (; end - at >= static_cast<std::ptrdiff_t>(kLanes * kWord); at += kLanes * kWord)
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i], load(at + i * kWord));
  std::uint64_t hash = bytes;
  for (const std::uint64_t lane : lanes) hash = mix(hash, lane);
  for (; end - at >= static_cast<std::ptrdiff_t>(kWord); at += kWord) hash = mix(hash, load(at));
  if (at < end) hash = mix(hash, load(at, static_cast<std::size_t>(end - at)));
  return mix(hash ^ hash >> 32, kOdd);
}

}  // namespace ronde::inline v0
