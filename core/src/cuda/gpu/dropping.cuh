/// Dropout: the mask is drawn again from its key, wherever it is needed. Four elements share a draw.
#pragma once

#include <ronde/core/philox.h>

#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

template <class T>
struct Dropping {
  const Index* sample_keys;  ///< of each sample: its index, the epoch
  std::uint64_t key;
  float rate;
  T scale;

  Dropping(const DropoutParams& p, const Operand& keys)
      : sample_keys(data<Index>(keys)),
        key(random_key(p.seed, p.op)),
        rate(static_cast<float>(p.rate)),
        scale(static_cast<T>(1 / (1 - p.rate))) {}

  __device__ Philox4 draw(Index sample, Index number) const {
    return sample_bits(key, static_cast<std::uint64_t>(sample_keys[2 * sample]),
                       static_cast<std::uint64_t>(sample_keys[2 * sample + 1]),
                       static_cast<std::uint64_t>(number));
  }
  __device__ T factor(std::uint32_t word) const { return uniform_float(word) >= rate ? scale : T(0); }
};

/// One of four words, without an address: they stay in registers.
__device__ inline std::uint32_t word_of(const Philox4& words, int i) {
  return i == 0 ? words[0] : (i == 1 ? words[1] : (i == 2 ? words[2] : words[3]));
}

/// The factors of N neighbouring elements of a sample, from a multiple of N on: 0 for those that are dropped,
/// else the scale.
template <int N, class T>
__device__ void draw_factors(const Dropping<T>& d, int sample, Index element, T (&factors)[N]) {
  if constexpr (N < 4) {
    const Philox4 words = d.draw(sample, element / 4);
    for (int i = 0; i < N; ++i) factors[i] = d.factor(word_of(words, static_cast<int>(element % 4) + i));
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const Philox4 words = d.draw(sample, (element + i) / 4);
#pragma unroll
      for (int k = 0; k < 4; ++k) factors[i + k] = d.factor(word_of(words, k));
    }
  }
}

/// What remains of x; an infinity that is dropped is 0 too.
template <class T>
__device__ T dropped(T x, T factor) {
  return factor == 0 ? T(0) : x * factor;
}

}  // namespace ronde::inline v0::cuda
