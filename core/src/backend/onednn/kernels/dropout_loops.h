/// Dropout of one sample: Philox4x32-10 (see core/philox.h, the definition) on many counters side by side.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// A vector of counters has a word of each in the lower half of a 64-bit lane, where the products of two words
// have room; what is in the upper half does not matter. Several vectors at once hide how long a product
// takes.
constexpr int kWideLanes = kVectorBytes / 8, kDrawVectors = 4, kDraws = kDrawVectors * kWideLanes;
constexpr int kDrawWords = 4 * kDraws;

struct Counters {
  WideVector word[4];
};

inline void philox_round(Counters& c, std::uint32_t k0, std::uint32_t k1) {
  const WideVector p0 = multiply_lower(c.word[0], 0xD2511F53u), p1 = multiply_lower(c.word[2], 0xCD9E8D57u);
  c = {(p1 >> 32) ^ c.word[1] ^ std::uint64_t{k0}, p1, (p0 >> 32) ^ c.word[3] ^ std::uint64_t{k1}, p0};
}

// The four words of the first counter, of the second, ...
template <int... lane>
inline void store_words(std::uint32_t* to, const Counters& c, LaneList<lane...>) {
  constexpr std::uint64_t kLower = 0xFFFFFFFFu;
  const WideVector front = (c.word[0] & kLower) | c.word[1] << 32;
  const WideVector back = (c.word[2] & kLower) | c.word[3] << 32;
  store(to, __builtin_shufflevector(front, back, (lane / 2 + lane % 2 * kWideLanes)...));
  store(to + kLanes,
        __builtin_shufflevector(front, back, ((lane + kWideLanes) / 2 + lane % 2 * kWideLanes)...));
}

// words[4 * i + j] = word j of sample_bits(key, sample, epoch, block + i) for kDraws i
inline void draw_words(std::uint32_t* words, std::uint64_t key, std::uint64_t sample, std::uint64_t epoch,
                       std::uint64_t block) {
  Counters c[kDrawVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kDrawVectors; ++v) {
    WideVector index;
    for (int i = 0; i < kWideLanes; ++i) index[i] = static_cast<std::uint64_t>(v * kWideLanes + i);
    c[v] = {index + block, WideVector{} + sample, WideVector{} + (sample >> 32), WideVector{} + epoch};
  }
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (int v = 0; v < kDrawVectors; ++v) philox_round(c[v], k0, k1);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
#pragma GCC unroll 4
  for (int v = 0; v < kDrawVectors; ++v, words += 4 * kWideLanes)
    store_words(words, c[v], LanesTo<kWideLanes>::List{});
}

// Set where a word is at least the threshold. Unsigned numbers compare like signed ones with the first bit
// flipped.
inline IntVector at_least(const std::uint32_t* words, std::uint32_t threshold) {
  constexpr std::uint32_t kFirstBit = 0x80000000u;
  const IntVector flipped = reinterpret_cast<IntVector>(load(reinterpret_cast<const float*>(words))) ^
                            static_cast<std::int32_t>(kFirstBit);
  return flipped >= static_cast<std::int32_t>(threshold ^ kFirstBit);
}

void dropout(float* out, const float* x, std::int64_t n, std::uint64_t key, std::uint64_t sample,
             std::uint64_t epoch, std::uint32_t threshold, float scale) {
  std::uint32_t words[kDrawWords];
  for (std::int64_t i = 0; i < n; i += kDrawWords) {
    draw_words(words, key, sample, epoch, static_cast<std::uint64_t>(i / 4));
    std::int64_t e = 0;
    for (; e + kLanes <= kDrawWords && i + e + kLanes <= n; e += kLanes)
      store(out + i + e, masked(at_least(words + e, threshold), load(x + i + e) * scale));
    for (; e < kDrawWords && i + e < n; ++e) out[i + e] = words[e] >= threshold ? x[i + e] * scale : 0.0f;
  }
}

}  // namespace
}  // namespace ronde::inline v0
