/// The windows of a pooling of one image.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

/// The part of a window that lies inside the image, and where the window begins.
struct PoolWindow {
  std::int64_t y_origin, x_origin, y_begin, y_end, x_begin, x_end;

  PoolWindow(const PoolShape& s, std::int64_t oy, std::int64_t ox)
      : y_origin(oy * s.stride_h - s.top),
        x_origin(ox * s.stride_w - s.left),
        y_begin(y_origin > 0 ? y_origin : 0),
        y_end(y_origin + s.window_h < s.h ? y_origin + s.window_h : s.h),
        x_begin(x_origin > 0 ? x_origin : 0),
        x_end(x_origin + s.window_w < s.w ? x_origin + s.window_w : s.w) {}

  /// Calls `f(y, x, index)` with the pixel's number in the window, row by row.
  template <class F>
  void for_each_place(const PoolShape& s, F f) const {
    for (std::int64_t y = y_begin; y < y_end; ++y)
      for (std::int64_t x = x_begin; x < x_end; ++x)
        f(y, x, static_cast<std::int32_t>((y - y_origin) * s.window_w + x - x_origin));
  }
  /// Calls `f(pixel, index)` with the pixel's number in the image, too.
  template <class F>
  void for_each(const PoolShape& s, F f) const {
    for_each_place(s, [&](std::int64_t y, std::int64_t x, std::int32_t index) { f(y * s.w + x, index); });
  }
  float size() const { return static_cast<float>((y_end - y_begin) * (x_end - x_begin)); }
};

/// Of one axis: the windows that are not cut off at the image's edges.
struct WholeWindows {
  std::int64_t begin, end;

  WholeWindows(std::int64_t count, std::int64_t stride, std::int64_t window, std::int64_t before,
               std::int64_t size)
      : begin((before + stride - 1) / stride), end((size + before - window + stride) / stride) {
    if (size + before < window) end = 0;
    if (end > count) end = count;
  }
  bool has(std::int64_t i) const { return begin <= i && i < end; }
};

}  // namespace
}  // namespace ronde::inline v0
