/// What the elements of a convolution and of its gradients are sums of. Each function calls `add(a, b)` for each product
/// of element `i`, with doubles.
#pragma once

#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

struct Conv {
  Index n, h, w, c, oh, ow, o, kh, kw, group_in, group_out;  // channels of a group, in and out
  Index stride_h, stride_w, dilation_h, dilation_w, top, left;
};

inline Conv conv_of(const Operand& x, const Operand& weight, const Operand& out, const Conv2dParams& p) {
  const Index o = weight.shape[0];
  return {x.shape[0], x.shape[1],      x.shape[2],      x.shape[3],      out.shape[1],  out.shape[2],
          o,          weight.shape[1], weight.shape[2], weight.shape[3], o / p.groups,  p.stride.h,
          p.stride.w, p.dilation.h,    p.dilation.w,    p.padding.top,   p.padding.left};
}

/// Of the result, but for its bias.
template <class T, class Add>
__device__ void add_forward(const Conv& p, Index i, const T* x, const T* weight, Add&& add) {
  const Index filter = i % p.o, ox = i / p.o % p.ow, oy = i / (p.o * p.ow) % p.oh,
              n = i / (p.o * p.ow * p.oh);
  const Index first = filter / p.group_out * p.group_in;
  for (Index ky = 0; ky < p.kh; ++ky)
    for (Index kx = 0; kx < p.kw; ++kx) {
      const Index y = oy * p.stride_h - p.top + ky * p.dilation_h;
      const Index col = ox * p.stride_w - p.left + kx * p.dilation_w;
      if (y < 0 || y >= p.h || col < 0 || col >= p.w) continue;
      const T* pixel = x + ((n * p.h + y) * p.w + col) * p.c + first;
      const T* taps = weight + ((filter * p.kh + ky) * p.kw + kx) * p.group_in;
      for (Index k = 0; k < p.group_in; ++k) add(wider(pixel[k]), wider(taps[k]));
    }
}

/// Of the gradient of the input.
template <class T, class Add>
__device__ void add_by_input(const Conv& p, Index i, const T* grad_out, const T* weight, Add&& add) {
  const Index channel = i % p.c, col = i / p.c % p.w, y = i / (p.c * p.w) % p.h, n = i / (p.c * p.w * p.h);
  const Index first = channel / p.group_in * p.group_out;
  for (Index ky = 0; ky < p.kh; ++ky)
    for (Index kx = 0; kx < p.kw; ++kx) {
      const Index sy = y + p.top - ky * p.dilation_h, sx = col + p.left - kx * p.dilation_w;
      if (sy < 0 || sx < 0 || sy % p.stride_h != 0 || sx % p.stride_w != 0) continue;
      const Index oy = sy / p.stride_h, ox = sx / p.stride_w;
      if (oy >= p.oh || ox >= p.ow) continue;
      const T* grads = grad_out + ((n * p.oh + oy) * p.ow + ox) * p.o + first;
      for (Index k = 0; k < p.group_out; ++k)
        add(wider(grads[k]),
            wider(weight[(((first + k) * p.kh + ky) * p.kw + kx) * p.group_in + channel % p.group_in]));
    }
}

/// Of the gradient of the weight: those that are this thread's in its block.
template <class T, class Add>
__device__ void add_by_weight(const Conv& p, Index i, const T* grad_out, const T* x, Add&& add) {
  const Index k = i % p.group_in, kx = i / p.group_in % p.kw, ky = i / (p.group_in * p.kw) % p.kh;
  const Index filter = i / (p.group_in * p.kw * p.kh);
  const Index channel = filter / p.group_out * p.group_in + k;
  for (Index at = threadIdx.x; at < p.n * p.oh * p.ow; at += blockDim.x) {
    const Index ox = at % p.ow, oy = at / p.ow % p.oh, n = at / (p.ow * p.oh);
    const Index y = oy * p.stride_h - p.top + ky * p.dilation_h;
    const Index col = ox * p.stride_w - p.left + kx * p.dilation_w;
    if (y < 0 || y >= p.h || col < 0 || col >= p.w) continue;
    add(wider(grad_out[at * p.o + filter]), wider(x[((n * p.h + y) * p.w + col) * p.c + channel]));
  }
}

}  // namespace ronde::inline v0::cuda
