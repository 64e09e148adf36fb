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
};

/// For `n` samples of so many elements.
__host__ __device__ inline Index draws(Index n, Index per_sample) {
  return n * ((per_sample + 3) / 4);
}

/// What remains of x; an infinity that is dropped is 0 too.
template <class T>
__device__ T dropped(T x, T factor) {
  return factor == 0 ? T(0) : x * factor;
}

/// `f(i, factor)` for all elements: 0 for those that are dropped, else the scale.
template <class T, class F>
__device__ void for_each_drawn(Index n, Index per_sample, const Dropping<T>& d, F&& f) {
  const Index draws_of_sample = (per_sample + 3) / 4;
  for (Index draw = first_element(); draw < n * draws_of_sample; draw += element_step()) {
    const Index sample = draw / draws_of_sample, block = draw % draws_of_sample;
    const Philox4 words = sample_bits(d.key, static_cast<std::uint64_t>(d.sample_keys[2 * sample]),
                                      static_cast<std::uint64_t>(d.sample_keys[2 * sample + 1]),
                                      static_cast<std::uint64_t>(block));
    for (int i = 0; i < 4; ++i) {
      const Index element = 4 * block + i;
      if (element >= per_sample) break;
      f(sample * per_sample + element,
        uniform_float(words[static_cast<std::size_t>(i)]) >= d.rate ? d.scale : T(0));
    }
  }
}

}  // namespace ronde::inline v0::cuda
