// Convolutions as they are defined, for what cuDNN has no engine for: doubles, odd strides, dilations and
// groups. A thread (or, for weights, a block) makes one element, adding in double.
#include "cuda/gpu/direct_conv2d.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T, class Bias>
__global__ void forward_kernel(Conv p, T* out, const T* x, const T* weight, const Bias* bias, bool relu) {
  begin_kernel();
  for (Index i = first_element(); i < p.n * p.oh * p.ow * p.o; i += element_step()) {
    double total = bias ? wider(bias[i % p.o]) : 0.0;
    add_forward(p, i, x, weight, [&](double a, double b) { total += a * b; });
    out[i] = rounded<T>(relu && total <= 0 ? 0.0 : total);
  }
}

template <class T>
__global__ void input_kernel(Conv p, T* grad_x, const T* grad_out, const T* weight) {
  begin_kernel();
  for (Index i = first_element(); i < p.n * p.h * p.w * p.c; i += element_step()) {
    double total = 0;
    add_by_input(p, i, grad_out, weight, [&](double a, double b) { total += a * b; });
    grad_x[i] = rounded<T>(total);
  }
}

template <class T, class Weight>
__global__ void weight_kernel(Conv p, Weight* grad_weight, const T* grad_out, const T* x) {
  begin_kernel();
  for (Index i = blockIdx.x; i < p.o * p.kh * p.kw * p.group_in; i += gridDim.x) {
    double total = 0;
    add_by_weight(p, i, grad_out, x, [&](double a, double b) { total += a * b; });
    total = sum_block(total);
    if (threadIdx.x == 0) grad_weight[i] = rounded<Weight>(total);
  }
}

}  // namespace

void run_direct_conv2d(const Call& call, const Place& place) {
  const Operand& out = call[0];
  if (out.count() == 0) return;
  const Conv2dParams& params = call.attributes.conv;
  const cudaStream_t stream = native(place.stream);
  if (call.op == Op::conv2d)
    with_reals(out.dtype, call[3].defined ? call[3].dtype : out.dtype, [&]<class T, class Bias>(T, Bias) {
      launch(forward_kernel<T, Bias>, blocks_for(out.count()), kThreads, stream,
             conv_of(call[1], call[2], out, params), data<T>(out), data<T>(call[1]), data<T>(call[2]),
             data<Bias>(call[3]), call.attributes.epilogue == Epilogue::relu);
    });
  else if (call.op == Op::conv2d_backward_input)
    with_real(out.dtype, [&]<class T>(T) {
      launch(input_kernel<T>, blocks_for(out.count()), kThreads, stream,
             conv_of(out, call[2], call[1], params), data<T>(out), data<T>(call[1]), data<T>(call[2]));
    });
  else
    with_reals(call[2].dtype, out.dtype, [&]<class T, class Weight>(T, Weight) {
      launch(weight_kernel<T, Weight>, blocks_for(out.count(), 1), kThreads, stream,
             conv_of(call[3], out, call[2], params), data<Weight>(out), data<T>(call[2]), data<T>(call[3]));
    });
}

}  // namespace ronde::inline v0::cuda
