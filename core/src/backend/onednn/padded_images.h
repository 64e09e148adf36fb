/// PaddedImages: what the direct kernels read, which know no padding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/scratch.h"
#include "backend/onednn/conv_primitive.h"
#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {

/// Images as the kernel wants them: themselves, or copied into a frame of zeros, which stays in the cache.
class PaddedImages {
 public:
  PaddedImages(Backend& backend, const ConvProblem& p)
      : problem_(p),
        h_((p.oh - 1) * p.params.stride.h + p.kh),
        w_((p.ow - 1) * p.params.stride.w + p.kw),
        padded_(!(p.params.padding == Padding2d{})),
        frame_(backend, padded_ ? h_ * w_ * p.c : 0) {
    if (padded_) std::fill_n(frame_.data(), h_ * w_ * p.c, 0.0f);
  }

  ConvShape shape() const {
    const ConvProblem& p = problem_;
    return {.h = padded_ ? h_ : p.h,
            .w = padded_ ? w_ : p.w,
            .c = p.c,
            .oh = p.oh,
            .ow = p.ow,
            .o = p.o,
            .kh = p.kh,
            .kw = p.kw,
            .stride_h = p.params.stride.h,
            .stride_w = p.params.stride.w};
  }

  const float* operator()(const float* image) const {
    if (!padded_) return image;
    const ConvProblem& p = problem_;
    const Padding2d& pad = p.params.padding;
    const std::int64_t rows = std::min(p.h, h_ - pad.top), columns = std::min(p.w, w_ - pad.left);
    for (std::int64_t y = 0; y < rows; ++y)
      std::copy_n(image + y * p.w * p.c, std::max<std::int64_t>(columns, 0) * p.c,
                  frame_.data() + ((y + pad.top) * w_ + pad.left) * p.c);
    return frame_.data();
  }

 private:
  const ConvProblem& problem_;
  std::int64_t h_, w_;
  bool padded_;
  Scratch<float> frame_;
};

}  // namespace ronde::inline v0
