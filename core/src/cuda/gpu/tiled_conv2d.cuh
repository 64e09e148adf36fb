/// The factors of a convolution's products, as tiles read them: a pixel's channels are neighbours, and so are
/// a filter's taps with theirs. What is beside an image, a matrix or a piece of it is 0. Divisions come
/// before the first stage.
#pragma once

#include "cuda/gpu/direct_conv2d.cuh"
#include "cuda/gpu/tiled_product.cuh"

namespace ronde::inline v0::cuda {

constexpr int kMultiprocessors = 132;  // of an H100 and an H200
constexpr int kMostTiledWindow = 12;   ///< what a mask has bits for, and some that are 0

__device__ inline bool is_below(int i, int limit) {
  return static_cast<unsigned>(i) < static_cast<unsigned>(limit);
}

/// The pixels that a convolution's results are sums of: result pixel (y, x) has taps (ky, kx) at
/// (y * stride - top + ky * step).
struct Taps {
  int results, result_h, result_w;  // pixels: of all images, of one
  int image_h, image_w, channels;   // of what is read
  int kh, kw;
  int stride_h, stride_w, top, left, step_h, step_w;
};

inline Taps taps_of(const Conv& p) {
  const auto as_int = [](Index i) { return static_cast<int>(i); };
  return {as_int(p.n * p.oh * p.ow),
          as_int(p.oh),
          as_int(p.ow),
          as_int(p.h),
          as_int(p.w),
          as_int(p.c),
          as_int(p.kh),
          as_int(p.kw),
          as_int(p.stride_h),
          as_int(p.stride_w),
          as_int(p.top),
          as_int(p.left),
          as_int(p.dilation_h),
          as_int(p.dilation_w)};
}

/// A row: a result's pixel. Its depths: taps, and their channels.
template <class T>
class PixelDepths : public RowDepths<T> {
  using Base = RowDepths<T>;

 public:
  __device__ PixelDepths(const Taps& taps, const float* image, int first_row)
      : taps_(taps), image_(image), channel_(Base::depth()) {
#pragma unroll
    for (int load = 0; load < Base::kLoads; ++load) find_row(load, first_row + Base::row(load));
    find_tap();
  }

  __device__ void load() {
    const int tap = (ky_ * taps_.step_h * taps_.image_w + kx_ * taps_.step_w) * taps_.channels + channel_;
#pragma unroll
    for (int load = 0; load < Base::kLoads; ++load) {
      const bool is_inside = (masks_[load] >> ky_ & masks_[load] >> (16 + kx_) & 1) != 0;
      this->values[load] = is_inside ? load_pack<4>(image_ + corners_[load] + tap) : Quad{};
    }
    channel_ += T::kDepth;
    find_tap();
  }

 private:
  __device__ void find_row(int load, int row) {
    const int x = row % taps_.result_w * taps_.stride_w - taps_.left;
    const int y = row / taps_.result_w % taps_.result_h * taps_.stride_h - taps_.top;
    const int n = row / (taps_.result_w * taps_.result_h);
    corners_[load] = ((n * taps_.image_h + y) * taps_.image_w + x) * taps_.channels;
    unsigned mask = 0;
    for (int k = 0; k < taps_.kh; ++k) mask |= is_below(y + k * taps_.step_h, taps_.image_h) ? 1u << k : 0;
    for (int k = 0; k < taps_.kw; ++k)
      mask |= is_below(x + k * taps_.step_w, taps_.image_w) ? 1u << (16 + k) : 0;
    masks_[load] = row < taps_.results ? mask : 0;
  }
  /// Past the last tap there are a few that no mask has.
  __device__ void find_tap() {
    for (; channel_ >= taps_.channels; channel_ -= taps_.channels) {
      if (++kx_ < taps_.kw) continue;
      kx_ = 0;
      ++ky_;
    }
  }

  const Taps& taps_;
  const float* image_;
  int channel_, ky_ = 0, kx_ = 0;
  int corners_[Base::kLoads];
  unsigned masks_[Base::kLoads];  // the taps inside of the image: of bit k those of row k, of 16 + k those of
                                  // column k
};

/// A column: a filter. Its depths: all that it has.
template <class T>
class FilterDepths : public ColumnDepths<T> {
  using Base = ColumnDepths<T>;

 public:
  __device__ FilterDepths(const float* weight, int filters, int size, int first_column)
      : filters_(filters), size_(size), column_(first_column + Base::row(0)), depth_(Base::depth()) {
    from_ = weight + column_ * size + depth_;
  }

  __device__ void load() {
#pragma unroll
    for (int load = 0; load < Base::kLoads; ++load) {
      const bool is_inside = depth_ < size_ && column_ + load * Base::kStep < filters_;
      this->values[load] = is_inside ? load_pack<4>(from_ + load * Base::kStep * size_) : Quad{};
    }
    from_ += T::kDepth;
    depth_ += T::kDepth;
  }

 private:
  int filters_, size_, column_, depth_;
  const float* from_;
};

/// A column: a channel of the input. Its depths: taps, and their filters.
template <class T>
class ChannelDepths : public DepthColumns<T> {
  using Base = DepthColumns<T>;

 public:
  __device__ ChannelDepths(const float* weight, int filters, int taps, int channels, int first_column)
      : filters_(filters), taps_(taps), channels_(channels), filter_(Base::depth()) {
    column_ = first_column + Base::row();
    from_ = weight + column_;
    find_tap();
  }

  __device__ void load() {
    const bool is_inside = tap_ < taps_ && column_ < channels_;
    const int first = (filter_ * taps_ + tap_) * channels_;
#pragma unroll
    for (int load = 0; load < Base::kLoads; ++load)
      this->values[load] = is_inside ? load_pack<4>(from_ + first + load * taps_ * channels_) : Quad{};
    filter_ += T::kDepth;
    find_tap();
  }

 private:
  __device__ void find_tap() {
    for (; filter_ >= filters_; filter_ -= filters_) ++tap_;
  }

  int filters_, taps_, channels_, filter_, column_, tap_ = 0;
  const float* from_;
};

/// A row: a filter. Its depths: the pixels of its gradient, from `begin` to `end`.
template <class T>
class GradientRows : public DepthRows<T> {
  using Base = DepthRows<T>;

 public:
  __device__ GradientRows(const float* grad_out, int filters, int begin, int end, int first_row)
      : filters_(filters), left_(end - begin - Base::depth()) {
    const int row = first_row + Base::row();
    if (row >= filters) left_ = 0;
    from_ = grad_out + (begin + Base::depth()) * filters + row;
  }

  __device__ void load() {
#pragma unroll
    for (int load = 0; load < Base::kLoads; ++load)
      this->values[load] = load < left_ ? load_pack<4>(from_ + load * filters_) : Quad{};
    left_ -= T::kDepth;
    from_ += T::kDepth * filters_;
  }

 private:
  int filters_, left_;
  const float* from_;
};

/// A column: a tap and its channel. Its depths: what it meets at the pixels of the result from `begin` to
/// `end`.
template <class T>
class TapColumns : public DepthColumns<T> {
  using Base = DepthColumns<T>;

 public:
  __device__ TapColumns(const Taps& taps, const float* image, int begin, int end, int first_column)
      : taps_(taps), left_(end - begin - Base::depth()) {
    const int column = first_column + Base::row(), tap = column / taps.channels,
              pixel = begin + Base::depth();
    if (tap >= taps.kh * taps.kw) left_ = 0;
    const int dy = tap / taps.kw * taps.step_h - taps.top, dx = tap % taps.kw * taps.step_w - taps.left;
    y_ = pixel / taps.result_w % taps.result_h * taps.stride_h + dy;
    x_ = pixel % taps.result_w * taps.stride_w + dx;
    end_y_ = taps.result_h * taps.stride_h + dy;
    end_x_ = taps.result_w * taps.stride_w + dx;
    const int n = pixel / (taps.result_w * taps.result_h);
    from_ = image + (((n * taps.image_h + y_) * taps.image_w + x_) * taps.channels + column % taps.channels);
  }

  __device__ void load() {
#pragma unroll
    for (int load = 0; load < Base::kLoads; ++load) {
      const bool is_inside = load < left_ && is_below(y_, taps_.image_h) && is_below(x_, taps_.image_w);
      this->values[load] = is_inside ? load_pack<4>(from_) : Quad{};
      go_on(1);
      if (x_ >= end_x_) begin_line();
    }
    left_ -= T::kDepth;
    go_on(T::kDepth - Base::kLoads);
    while (x_ >= end_x_) begin_line();
  }

 private:
  __device__ void go_on(int pixels) {
    x_ += pixels * taps_.stride_w;
    from_ += pixels * taps_.stride_w * taps_.channels;
  }
  __device__ void begin_line() {
    const int width = taps_.result_w * taps_.stride_w, height = taps_.result_h * taps_.stride_h;
    x_ -= width;
    y_ += taps_.stride_h;
    from_ += (taps_.stride_h * taps_.image_w - width) * taps_.channels;
    if (y_ < end_y_) return;
    y_ -= height;
    from_ += (taps_.image_h - height) * taps_.image_w * taps_.channels;
  }

  const Taps& taps_;
  int left_, y_, x_, end_y_, end_x_;
  const float* from_;
};

// tiled_by_weight.cu: of calls that has_tiled_conv2d is asked about.
std::size_t tiled_by_weight_workspace(const Call& call);
void run_tiled_by_weight(const Call& call, void* workspace, const Place& place);

}  // namespace ronde::inline v0::cuda
