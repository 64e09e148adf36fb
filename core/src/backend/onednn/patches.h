/// Note [Patches] in patch_conv2d.cpp: the matrix that a convolution multiplies its filters with.
#pragma once

#include <algorithm>

#include <ronde/core/whole_numbers.h>

#include "backend/onednn/conv_passes.h"
#include "backend/onednn/float_rows.h"

namespace ronde::inline v0 {

inline bool is_plain(const ConvProblem& p) {
  return p.params.stride == Size2d{};
}

inline bool is_pixel_by_pixel(const ConvProblem& p) {
  return p.kh == 1 && p.kw == 1 && is_plain(p) && p.params.padding == Padding2d{};
}

/// Channels [begin, end) of each pixel.
struct Channels {
  std::int64_t begin, end;
};

/// The patches of x that the windows of a convolution cover, one a row: Note [Patches] in patch_conv2d.cpp.
class Patches {
 public:
  /// Rows begin a multiple of `lanes` apart.
  explicit Patches(const ConvProblem& p, std::int64_t lanes = 1)
      : p_(p), depth_(p.kh * p.kw * p.c), pitch_(ceil_divide(depth_, lanes) * lanes) {}

  std::int64_t depth() const { return depth_; }
  std::int64_t pitch() const { return pitch_; }
  std::int64_t rows(std::int64_t images) const { return images * p_.oh * p_.ow; }
  std::int64_t images_at_once() const { return std::min(p_.n, ceil_divide(kRows, rows(1))); }
  /// Whether they are the pixels of x, as these lie.
  bool are_pixels() const { return is_pixel_by_pixel(p_); }

  /// Rows [begin, end) of the patches (images, oh, ow, kh, kw, c) of x (images, h, w, c)
  template <class T>
  void gather(T* patches, const T* x, std::int64_t begin, std::int64_t end) const {
    visit(begin, end, [&](std::int64_t place, std::int64_t pixel, std::int64_t pixels) {
      T* to = patches + place;
      if (pixel < 0)
        std::fill_n(to, pixels * p_.c, T{});
      else
        std::copy_n(x + pixel * p_.c, pixels * p_.c, to);
    });
  }

  /// grad_x is written
  void scatter(const Kernels& kernels, float* grad_x, const float* patches, std::int64_t images,
               Channels channels) const {
    const std::int64_t count = channels.end - channels.begin;
    // Of neighbouring pixels at once where all channels are wanted.
    const std::int64_t most = count == p_.c ? p_.kw : 1;
    for (std::int64_t pixel = 0; pixel < images * p_.h * p_.w; ++pixel)
      std::fill_n(grad_x + pixel * p_.c + channels.begin, count, 0.0f);
    visit(0, rows(images), [&](std::int64_t place, std::int64_t pixel, std::int64_t pixels) {
      if (pixel < 0) return;
      in_pieces(0, pixels, most, [&](std::int64_t first, std::int64_t some) {
        kernels.accumulate(grad_x + (pixel + first) * p_.c + channels.begin,
                           patches + place + first * p_.c + channels.begin, 1.0f, some * count);
      });
    });
  }

 private:
  // Rows that pay for going through all weights once.
  static constexpr std::int64_t kRows = 256;

  // Calls f(element of the patches, first pixel of x, pixels) for each stretch of pixels of some rows; -1:
  // outside of it.
  template <class F>
  void visit(std::int64_t begin, std::int64_t end, const F& f) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t image = row / (p_.oh * p_.ow), y = row / p_.ow % p_.oh, x = row % p_.ow;
      const std::int64_t top = y * p_.params.stride.h - p_.params.padding.top;
      const std::int64_t left = x * p_.params.stride.w - p_.params.padding.left;
      for (std::int64_t i = 0; i < p_.kh; ++i)
        visit_line(row * pitch_ + i * p_.kw * p_.c, image, top + i, left, f);
    }
  }

  template <class F>
  void visit_line(std::int64_t place, std::int64_t image, std::int64_t y, std::int64_t left,
                  const F& f) const {
    if (y < 0 || y >= p_.h) return f(place, std::int64_t{-1}, p_.kw);
    const std::int64_t begin = std::clamp<std::int64_t>(-left, 0, p_.kw);
    const std::int64_t end = std::clamp<std::int64_t>(p_.w - left, begin, p_.kw);
    if (begin > 0) f(place, std::int64_t{-1}, begin);
    if (end > begin) f(place + begin * p_.c, (image * p_.h + y) * p_.w + left + begin, end - begin);
    if (end < p_.kw) f(place + end * p_.c, std::int64_t{-1}, p_.kw - end);
  }

  const ConvProblem& p_;
  std::int64_t depth_, pitch_;
};

}  // namespace ronde::inline v0
