// What comes behind a product that was left in floats: bias and relu, and the result rounded.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T, class Bias>
__global__ void epilogue_kernel(Index count, Index channels, T* out, const Arithmetic<T>* x, const Bias* bias,
                                bool has_relu) {
  using Real = Arithmetic<T>;
  for (Index i = first_element(); i < count; i += element_step()) {
    const Real value = x[i] + wide(bias[i % channels]);
    out[i] = rounded<T>(has_relu && value <= 0 ? Real(0) : value);  // a NaN stays one
  }
}

}  // namespace

void run_epilogue(const Operand& out, const Operand& x, const Operand& bias, bool has_relu,
                  const Place& place) {
  const Index count = out.count();
  with_reals(out.dtype, bias.dtype, [&]<class T, class Bias>(T, Bias) {
    epilogue_kernel<T, Bias><<<blocks_for(count), kThreads, 0, native(place.stream)>>>(
        count, bias.count(), data<T>(out), data<Arithmetic<T>>(x), data<Bias>(bias), has_relu);
  });
}

}  // namespace ronde::inline v0::cuda
