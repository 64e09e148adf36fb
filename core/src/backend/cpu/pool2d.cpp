#include <algorithm>
#include <cassert>
#include <limits>

#include "backend/cpu/cpu_backend.h"

namespace ronde::inline v0 {

namespace {

// Offsets, in pixels, of the window at one output position that are inside the image.
struct Window {
  std::int64_t y_begin, y_end, x_begin, x_end;  // within the image
  std::int64_t y_origin, x_origin;              // of element 0, perhaps in the padding

  std::int64_t size() const { return (y_end - y_begin) * (x_end - x_begin); }
};

struct PoolGeometry {
  std::int64_t n, h, w, c, oh, ow;
  const Pool2dParams& params;

  PoolGeometry(const Shape& x, const Shape& out, const Pool2dParams& p)
      : n(x[0]), h(x[1]), w(x[2]), c(x[3]), oh(out[1]), ow(out[2]), params(p) {}

  std::int64_t image() const { return h * w * c; }

  Window window(std::int64_t oy, std::int64_t ox) const {
    const std::int64_t y = oy * params.stride.h - params.padding.top;
    const std::int64_t x = ox * params.stride.w - params.padding.left;
    const std::int64_t y_begin = std::max<std::int64_t>(y, 0), x_begin = std::max<std::int64_t>(x, 0);
    return {y_begin, std::max(y_begin, std::min(y + params.window.h, h)),
            x_begin, std::max(x_begin, std::min(x + params.window.w, w)),
            y,       x};
  }

  // Offset in the image of element `index` of the window.
  std::int64_t pixel(const Window& at, std::int64_t index) const {
    return ((at.y_origin + index / params.window.w) * w + at.x_origin + index % params.window.w) * c;
  }

  // Calls `f(i, window, offset)` for each output position of each image: `offset` of its c channels in the
  // output. Images are split over `pool`.
  template <class F>
  void for_each_window(ThreadPool& pool, F&& f) const {
    pool.parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t oy = 0; oy < oh; ++oy)
          for (std::int64_t ox = 0; ox < ow; ++ox)
            f(i * image(), window(oy, ox), ((i * oh + oy) * ow + ox) * c);
    });
  }
};

// Whether x takes the place of `best`; the first NaN stays.
template <class T>
bool beats(T x, T best) {
  return x > best || (x != x && best == best);
}

// Index within the window of the first maximum of one channel.
template <class T>
std::int64_t index_of_maximum(const PoolGeometry& geo, const Window& at, const T* x) {
  T best = -std::numeric_limits<T>::infinity();
  std::int64_t best_index = -1;
  for (std::int64_t y = at.y_begin; y < at.y_end; ++y)
    for (std::int64_t col = at.x_begin; col < at.x_end; ++col) {
      const T value = x[(y * geo.w + col) * geo.c];
      if (best_index >= 0 && !beats(value, best)) continue;
      best = value;
      best_index = (y - at.y_origin) * geo.params.window.w + col - at.x_origin;
    }
  return best_index;
}

template <class F>
void visit_index_type(DType dtype, F&& f) {
  require(dtype == DType::u8 || dtype == DType::i32, "[max_pool2d] argmax is u8 or i32, got ", dtype);
  if (dtype == DType::u8)
    f(std::uint8_t{});
  else
    f(std::int32_t{});
}

}  // namespace

void CpuBackend::max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                            const Pool2dParams& params) {
  const PoolGeometry geo(x.shape(), out.shape(), params);
  visit_real(out.dtype(), "max_pool2d", [&]<class T>(T) {
    visit_index_type(argmax.dtype(), [&]<class Index>(Index) {
      T* to = out.data<T>();
      const T* from = x.data<T>();
      auto* indices = argmax.data<Index>();
      geo.for_each_window(threads_, [=, &geo](std::int64_t image, const Window& at, std::int64_t offset) {
        assert(at.size() > 0);
        for (std::int64_t channel = 0; channel < geo.c; ++channel) {
          const T* first = from + image + channel;
          const std::int64_t index = index_of_maximum(geo, at, first);
          indices[offset + channel] = static_cast<Index>(index);
          to[offset + channel] = first[geo.pixel(at, index)];
        }
      });
    });
  });
}

void CpuBackend::max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                                     const Pool2dParams& params) {
  const PoolGeometry geo(grad_x.shape(), grad_out.shape(), params);
  fill(grad_x, 0.0);
  visit_real(grad_x.dtype(), "max_pool2d_backward", [&]<class T>(T) {
    visit_index_type(argmax.dtype(), [&]<class Index>(Index) {
      T* to = grad_x.data<T>();
      const T* from = grad_out.data<T>();
      const auto* indices = argmax.data<Index>();
      geo.for_each_window(threads_, [=, &geo](std::int64_t image, const Window& at, std::int64_t offset) {
        for (std::int64_t channel = 0; channel < geo.c; ++channel)
          to[image + geo.pixel(at, indices[offset + channel]) + channel] += from[offset + channel];
      });
    });
  });
}

void CpuBackend::average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) {
  const PoolGeometry geo(x.shape(), out.shape(), params);
  visit_real(out.dtype(), "average_pool2d", [&]<class T>(T) {
    T* to = out.data<T>();
    const T* from = x.data<T>();
    geo.for_each_window(threads_, [=, &geo](std::int64_t image, const Window& at, std::int64_t offset) {
      for (std::int64_t channel = 0; channel < geo.c; ++channel) {
        double total = 0;
        for (std::int64_t y = at.y_begin; y < at.y_end; ++y)
          for (std::int64_t col = at.x_begin; col < at.x_end; ++col)
            total += static_cast<double>(from[image + (y * geo.w + col) * geo.c + channel]);
        to[offset + channel] = static_cast<T>(total / static_cast<double>(at.size()));
      }
    });
  });
}

void CpuBackend::average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                                         const Pool2dParams& params) {
  const PoolGeometry geo(grad_x.shape(), grad_out.shape(), params);
  fill(grad_x, 0.0);
  visit_real(grad_x.dtype(), "average_pool2d_backward", [&]<class T>(T) {
    T* to = grad_x.data<T>();
    const T* from = grad_out.data<T>();
    geo.for_each_window(threads_, [=, &geo](std::int64_t image, const Window& at, std::int64_t offset) {
      for (std::int64_t channel = 0; channel < geo.c; ++channel) {
        const T share = from[offset + channel] / static_cast<T>(at.size());
        for (std::int64_t y = at.y_begin; y < at.y_end; ++y)
          for (std::int64_t col = at.x_begin; col < at.x_end; ++col)
            to[image + (y * geo.w + col) * geo.c + channel] += share;
      }
    });
  });
}

}  // namespace ronde::inline v0
