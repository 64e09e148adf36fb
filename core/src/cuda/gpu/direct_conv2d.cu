// Convolutions as they are defined, for what cuDNN has no engine for: doubles, odd strides, dilations and
// groups. A thread (or, for weights, a block) makes one element, adding in double.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

struct Conv {
  Index n, h, w, c, oh, ow, o, kh, kw, group_in, group_out;  // channels of a group, in and out
  Index stride_h, stride_w, dilation_h, dilation_w, top, left;
};

Conv conv_of(const Operand& x, const Operand& weight, const Operand& out, const Conv2dParams& p) {
  const Index o = weight.shape[0];
  return {x.shape[0], x.shape[1],      x.shape[2],      x.shape[3],      out.shape[1],  out.shape[2],
          o,          weight.shape[1], weight.shape[2], weight.shape[3], o / p.groups,  p.stride.h,
          p.stride.w, p.dilation.h,    p.dilation.w,    p.padding.top,   p.padding.left};
}

template <class T, class Bias>
__global__ void forward_kernel(Conv p, T* out, const T* x, const T* weight, const Bias* bias, bool relu) {
  for (Index i = first_element(); i < p.n * p.oh * p.ow * p.o; i += element_step()) {
    const Index filter = i % p.o, ox = i / p.o % p.ow, oy = i / (p.o * p.ow) % p.oh,
                n = i / (p.o * p.ow * p.oh);
    const Index first = filter / p.group_out * p.group_in;
    double total = bias ? wider(bias[filter]) : 0.0;
    for (Index ky = 0; ky < p.kh; ++ky)
      for (Index kx = 0; kx < p.kw; ++kx) {
        const Index y = oy * p.stride_h - p.top + ky * p.dilation_h;
        const Index col = ox * p.stride_w - p.left + kx * p.dilation_w;
        if (y < 0 || y >= p.h || col < 0 || col >= p.w) continue;
        const T* pixel = x + ((n * p.h + y) * p.w + col) * p.c + first;
        const T* taps = weight + ((filter * p.kh + ky) * p.kw + kx) * p.group_in;
        for (Index k = 0; k < p.group_in; ++k) total += wider(pixel[k]) * wider(taps[k]);
      }
    out[i] = rounded<T>(relu && total <= 0 ? 0.0 : total);
  }
}

template <class T>
__global__ void input_kernel(Conv p, T* grad_x, const T* grad_out, const T* weight) {
  for (Index i = first_element(); i < p.n * p.h * p.w * p.c; i += element_step()) {
    const Index channel = i % p.c, col = i / p.c % p.w, y = i / (p.c * p.w) % p.h, n = i / (p.c * p.w * p.h);
    const Index first = channel / p.group_in * p.group_out;
    double total = 0;
    for (Index ky = 0; ky < p.kh; ++ky)
      for (Index kx = 0; kx < p.kw; ++kx) {
        const Index sy = y + p.top - ky * p.dilation_h, sx = col + p.left - kx * p.dilation_w;
        if (sy < 0 || sx < 0 || sy % p.stride_h != 0 || sx % p.stride_w != 0) continue;
        const Index oy = sy / p.stride_h, ox = sx / p.stride_w;
        if (oy >= p.oh || ox >= p.ow) continue;
        const T* grads = grad_out + ((n * p.oh + oy) * p.ow + ox) * p.o + first;
        for (Index k = 0; k < p.group_out; ++k)
          total += wider(grads[k]) *
                   wider(weight[(((first + k) * p.kh + ky) * p.kw + kx) * p.group_in + channel % p.group_in]);
      }
    grad_x[i] = rounded<T>(total);
  }
}

template <class T, class Weight>
__global__ void weight_kernel(Conv p, Weight* grad_weight, const T* grad_out, const T* x) {
  for (Index i = blockIdx.x; i < p.o * p.kh * p.kw * p.group_in; i += gridDim.x) {
    const Index k = i % p.group_in, kx = i / p.group_in % p.kw, ky = i / (p.group_in * p.kw) % p.kh;
    const Index filter = i / (p.group_in * p.kw * p.kh);
    const Index channel = filter / p.group_out * p.group_in + k;
    double total = 0;
    for (Index at = threadIdx.x; at < p.n * p.oh * p.ow; at += blockDim.x) {
      const Index ox = at % p.ow, oy = at / p.ow % p.oh, n = at / (p.ow * p.oh);
      const Index y = oy * p.stride_h - p.top + ky * p.dilation_h;
      const Index col = ox * p.stride_w - p.left + kx * p.dilation_w;
      if (y < 0 || y >= p.h || col < 0 || col >= p.w) continue;
      total += wider(grad_out[at * p.o + filter]) * wider(x[((n * p.h + y) * p.w + col) * p.c + channel]);
    }
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
