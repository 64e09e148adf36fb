/// Dropout of one sample: Philox4x32-10 (see core/philox.h, the definition) on many counters side by side.
#pragma once

#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {
namespace {

// Counters at once, each of which gives four words: enough for the loops over them to be loops.
constexpr int kDraws = 64;

// words[4 * i + j] = word j of sample_bits(key, sample, epoch, block + i)
inline void draw_words(std::uint32_t* __restrict words, std::uint64_t key, std::uint64_t sample,
                       std::uint64_t epoch, std::uint64_t block) {
  std::uint32_t c0[kDraws], c1[kDraws], c2[kDraws], c3[kDraws];
  for (int i = 0; i < kDraws; ++i) {
    c0[i] = static_cast<std::uint32_t>(block) + static_cast<std::uint32_t>(i);
    c1[i] = static_cast<std::uint32_t>(sample);
    c2[i] = static_cast<std::uint32_t>(sample >> 32);
    c3[i] = static_cast<std::uint32_t>(epoch);
  }
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kDraws; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kDraws; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

void dropout(float* out, const float* x, std::int64_t n, std::uint64_t key, std::uint64_t sample,
             std::uint64_t epoch, std::uint32_t threshold, float scale) {
  constexpr std::int64_t kElements = 4 * kDraws;
  std::uint32_t words[kElements];
  for (std::int64_t i = 0; i < n; i += kElements) {
    draw_words(words, key, sample, epoch, static_cast<std::uint64_t>(i / 4));
    const std::int64_t count = n - i < kElements ? n - i : kElements;
#pragma GCC ivdep
    for (std::int64_t e = 0; e < count; ++e) out[i + e] = words[e] >= threshold ? x[i + e] * scale : 0.0f;
  }
}

}  // namespace
}  // namespace ronde::inline v0
