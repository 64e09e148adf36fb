// Dropout: the mask is drawn again from its key, forward and backward alike. Four elements share a draw.
#include <ronde/core/philox.h>

#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T>
__global__ void dropout_kernel(Index n, Index per_sample, T* out, const T* x, const Index* sample_keys,
                               std::uint64_t key, float rate, T scale) {
  const Index draws = (per_sample + 3) / 4;
  for (Index draw = first_element(); draw < n * draws; draw += element_step()) {
    const Index sample = draw / draws, block = draw % draws;
    const Philox4 words = sample_bits(key, static_cast<std::uint64_t>(sample_keys[2 * sample]),
                                      static_cast<std::uint64_t>(sample_keys[2 * sample + 1]),
                                      static_cast<std::uint64_t>(block));
    for (int i = 0; i < 4; ++i) {
      const Index element = 4 * block + i;
      if (element >= per_sample) break;
      const Index at = sample * per_sample + element;
      out[at] = uniform_float(words[static_cast<std::size_t>(i)]) >= rate ? x[at] * scale : T(0);
    }
  }
}

}  // namespace

void run_dropout(const Call& call, const Place& place) {
  const Operand &out = call[0], &x = call[1];
  if (out.count() == 0) return;
  const DropoutParams& p = call.attributes.dropout;
  if (p.rate == 0) {
    Call copy = call;
    copy.op = Op::copy;
    return run_elementwise(copy, place);
  }
  const Index n = x.shape[0], per_sample = x.count() / n;
  with_real(out.dtype, [&]<class T>(T) {
    dropout_kernel<T><<<blocks_for(n * ((per_sample + 3) / 4)), kThreads, 0, native(place.stream)>>>(
        n, per_sample, data<T>(out), data<T>(x), data<Index>(call[2]), random_key(p.seed, p.op),
        static_cast<float>(p.rate), static_cast<T>(1 / (1 - p.rate)));
  });
}

}  // namespace ronde::inline v0::cuda
