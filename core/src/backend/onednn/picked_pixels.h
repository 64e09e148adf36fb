/// Note [Picked pixels]
/// A 1x1 convolution with a stride is one without, of the pixels that it uses. For weight gradients they are
/// always picked here: oneDNN 2.6, which picks them in its scratchpad, writes behind the end of that with
/// AVX2 when the channels fill no vector.
#pragma once

#include <algorithm>

#include <ronde/core/thread_pool.h>

#include "backend/onednn/conv_primitive.h"

namespace ronde::inline v0 {

inline ConvProblem of_picked_pixels(ConvProblem p) {
  p.h = p.oh;
  p.w = p.ow;
  p.params.stride = {};
  return p;
}

/// to (n, oh, ow, c) = the pixels of x (n, h, w, c) that are used.
template <class T>
void pick_pixels(ThreadPool& threads, T* to, const T* x, const ConvProblem& p) {
  const Size2d stride = p.params.stride;
  threads.parallel_for(p.n * p.oh, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* from = x + (row / p.oh * p.h + row % p.oh * stride.h) * p.w * p.c;
      for (std::int64_t j = 0; j < p.ow; ++j)
        std::copy_n(from + j * stride.w * p.c, p.c, to + (row * p.ow + j) * p.c);
    }
  });
}

/// x (n, h, w, c) = the pixels of `from` (n, oh, ow, c) where they were picked, 0 elsewhere.
template <class T>
void spread_pixels(ThreadPool& threads, T* x, const T* from, const ConvProblem& p) {
  const Size2d stride = p.params.stride;
  threads.parallel_for(p.n * p.h, 1, [&](std::int64_t begin, std::int64_t end) {
    std::fill_n(x + begin * p.w * p.c, (end - begin) * p.w * p.c, T{});
    for (std::int64_t row = begin; row < end; ++row) {
      if (row % p.h % stride.h != 0) continue;
      const T* picked = from + (row / p.h * p.oh + row % p.h / stride.h) * p.ow * p.c;
      for (std::int64_t j = 0; j < p.ow; ++j)
        std::copy_n(picked + j * p.c, p.c, x + (row * p.w + j * stride.w) * p.c);
    }
  });
}

}  // namespace ronde::inline v0
