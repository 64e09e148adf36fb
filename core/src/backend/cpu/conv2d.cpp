// Convolution as matrix products: the patch under the filter at each output position becomes a row of a
// (oh * ow, kh * kw * c / groups) matrix, image by image and group by group.
#include <algorithm>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/matrix_product.h"
#include "backend/cpu/scratch.h"

namespace ronde::inline v0 {

namespace {

struct Geometry {
  std::int64_t n, h, w, c;  // input
  std::int64_t oh, ow, o;   // output
  std::int64_t kh, kw;      // filter
  std::int64_t cg, og;      // channels of one group: of the input, of the output
  const Conv2dParams& params;

  Geometry(const Shape& x, const Shape& weight, const Shape& out, const Conv2dParams& p)
      : n(x[0]),
        h(x[1]),
        w(x[2]),
        c(x[3]),
        oh(out[1]),
        ow(out[2]),
        o(out[3]),
        kh(weight[1]),
        kw(weight[2]),
        cg(weight[3]),
        og(o / p.groups),
        params(p) {}

  std::int64_t positions() const { return oh * ow; }
  std::int64_t taps() const { return kh * kw * cg; }
  std::int64_t image() const { return h * w * c; }

  // Calls `f(patch, pixel)` for each filter position at each output position: offsets of cg channels in the
  // patch matrix and in the image; pixel is -1 in the padding.
  template <class F>
  void for_each_tap(F&& f) const {
    std::int64_t patch = 0;
    for (std::int64_t y = 0; y < oh; ++y)
      for (std::int64_t x = 0; x < ow; ++x)
        for (std::int64_t ky = 0; ky < kh; ++ky)
          for (std::int64_t kx = 0; kx < kw; ++kx, patch += cg) {
            const std::int64_t iy = y * params.stride.h + ky * params.dilation.h - params.padding.top;
            const std::int64_t ix = x * params.stride.w + kx * params.dilation.w - params.padding.left;
            const bool inside = iy >= 0 && iy < h && ix >= 0 && ix < w;
            f(patch, inside ? (iy * w + ix) * c : -1);
          }
  }
};

// The patches of one image, channels from `channels` on.
template <class T>
void gather_patches(const Geometry& geo, T* patches, const T* channels) {
  geo.for_each_tap([&](std::int64_t patch, std::int64_t pixel) {
    if (pixel >= 0)
      std::copy_n(channels + pixel, geo.cg, patches + patch);
    else
      std::fill_n(patches + patch, geo.cg, T(0));
  });
}

// The transpose of `gather_patches`: accumulates into the image.
template <class T>
void scatter_patches(const Geometry& geo, T* channels, const T* patches) {
  geo.for_each_tap([&](std::int64_t patch, std::int64_t pixel) {
    if (pixel < 0) return;
    for (std::int64_t i = 0; i < geo.cg; ++i) channels[pixel + i] += patches[patch + i];
  });
}

// (og, taps) of a group
template <class T>
ConstMatrixMap<T> filters_of(const Geometry& geo, const Tensor& weight, std::int64_t g) {
  return const_matrix<T>(weight.data<T>() + g * geo.og * geo.taps(), geo.og, geo.taps());
}

}  // namespace

void CpuBackend::conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Conv2dParams& params, Epilogue epilogue) {
  const Geometry geo(x.shape(), weight.shape(), out.shape(), params);
  visit_real(out.dtype(), "conv2d", [&]<class T>(T) {
    const Scratch<T> turned(*this, geo.o * geo.taps());
    std::vector<ConstMatrixMap<T>> filters;  // (taps, og) of each group
    for (std::int64_t g = 0; g < params.groups; ++g)
      filters.push_back(
          transposed<T>(filters_of<T>(geo, weight, g), turned.data() + g * geo.og * geo.taps()));
    threads_.parallel_for(geo.n, 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> patches(*this, geo.positions() * geo.taps());
      for (std::int64_t i = begin; i < end; ++i) {
        T* image_out = out.data<T>() + i * geo.positions() * geo.o;
        for (std::int64_t g = 0; g < params.groups; ++g) {
          gather_patches<T>(geo, patches.data(), x.data<T>() + i * geo.image() + g * geo.cg);
          set_product<T>(matrix(image_out + g * geo.og, geo.positions(), geo.og, geo.o),
                         const_matrix<T>(patches.data(), geo.positions(), geo.taps()),
                         filters[static_cast<std::size_t>(g)]);
        }
        apply_epilogue<T>(matrix(image_out, geo.positions(), geo.o), data_or_null<T>(bias), epilogue);
      }
    });
  });
}

void CpuBackend::conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                       const Conv2dParams& params) {
  const Geometry geo(grad_x.shape(), weight.shape(), grad_out.shape(), params);
  visit_real(grad_x.dtype(), "conv2d_backward_input", [&]<class T>(T) {
    threads_.parallel_for(geo.n, 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> patches(*this, geo.positions() * geo.taps());
      for (std::int64_t i = begin; i < end; ++i) {
        T* image = grad_x.data<T>() + i * geo.image();
        std::fill_n(image, geo.image(), T(0));
        for (std::int64_t g = 0; g < params.groups; ++g) {
          const T* gradient = grad_out.data<T>() + i * geo.positions() * geo.o + g * geo.og;
          set_product<T>(matrix(patches.data(), geo.positions(), geo.taps()),
                         const_matrix<T>(gradient, geo.positions(), geo.og, geo.o),
                         filters_of<T>(geo, weight, g));
          scatter_patches<T>(geo, image + g * geo.cg, patches.data());
        }
      }
    });
  });
}

namespace {

// What the gradient of the weights needs room for: patches, and a group's gradients, turned.
template <class T>
struct Room {
  T *patches, *turned;
};

// Accumulates the weight gradient of image i into `total`, (o, taps).
template <class T>
void add_weight_gradient(const Geometry& geo, T* total, Room<T> room, const T* grad_out, const T* x) {
  for (std::int64_t g = 0; g < geo.params.groups; ++g) {
    gather_patches<T>(geo, room.patches, x + g * geo.cg);
    add_product<T>(
        matrix(total + g * geo.og * geo.taps(), geo.og, geo.taps()),
        transposed<T>(const_matrix<T>(grad_out + g * geo.og, geo.positions(), geo.og, geo.o), room.turned),
        const_matrix<T>(room.patches, geo.positions(), geo.taps()));
  }
}

}  // namespace

void CpuBackend::conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                        const Tensor& grad_out, const Tensor& x, const Conv2dParams& params) {
  // Images are summed in a fixed number of blocks and these in order: the same bits for any number of
  // threads.
  constexpr std::int64_t kBlocks = 16;
  const Geometry geo(x.shape(), grad_weight.shape(), grad_out.shape(), params);
  const std::int64_t blocks = std::min(kBlocks, geo.n), weights = geo.o * geo.taps();
  visit_real(x.dtype(), "conv2d_backward_weight", [&]<class T>(T) {
    const Scratch<T> totals(*this, blocks * weights);
    threads_.parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> patches(*this, geo.positions() * geo.taps()), turned(*this, geo.positions() * geo.og);
      for (std::int64_t block = begin; block < end; ++block) {
        T* total = totals.data() + block * weights;
        std::fill_n(total, weights, T(0));
        for (std::int64_t i = geo.n * block / blocks; i < geo.n * (block + 1) / blocks; ++i)
          add_weight_gradient<T>(geo, total, {patches.data(), turned.data()},
                                 grad_out.data<T>() + i * geo.positions() * geo.o,
                                 x.data<T>() + i * geo.image());
      }
    });
    matrix(grad_weight.data<T>(), 1, weights) = matrix(totals.data(), blocks, weights).colwise().sum();
  });
  if (grad_bias.defined())
    reduce(ReduceOp::sum, grad_bias.reshape({1, geo.o}), grad_out.reshape({geo.n * geo.positions(), geo.o}));
}

}  // namespace ronde::inline v0
