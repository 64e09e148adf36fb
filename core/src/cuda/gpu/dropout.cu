#include "cuda/gpu/dropping.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T>
__global__ void dropout_kernel(Index n, Index per_sample, Dropping<Arithmetic<T>> dropping, T* out,
                               const T* x) {
  for_each_drawn(n, per_sample, dropping,
                 [&](Index i, Arithmetic<T> factor) { out[i] = rounded<T>(dropped(wide(x[i]), factor)); });
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
    launch(dropout_kernel<T>, blocks_for(draws(n, per_sample)), kThreads, native(place.stream), n, per_sample,
           Dropping<Arithmetic<T>>(p, call[2]), data<T>(out), data<T>(x));
  });
}

}  // namespace ronde::inline v0::cuda
