#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <ronde/data/augmentation.h>

namespace ronde::inline v0 {
namespace {

/// The value at a fractional coordinate of an axis: from + weight * (to - from). A negative index: the fill
/// value.
template <class T>
struct Tap {
  std::int64_t from = 0, to = 0;
  T weight = 0;
};

/// Index of the pixel that stands at index i, which may lie beyond the border.
std::int64_t extend(std::int64_t i, std::int64_t size, FillMode mode) {
  if (mode != FillMode::reflect) return std::clamp<std::int64_t>(i, 0, size - 1);
  i %= 2 * size;
  if (i < 0) i += 2 * size;
  return i < size ? i : 2 * size - 1 - i;
}

template <class T>
Tap<T> tap_at(double coordinate, std::int64_t size, FillMode mode) {
  if (mode == FillMode::constant && (coordinate < 0.0 || coordinate > static_cast<double>(size - 1)))
    return {-1, -1, 0};
  const double floor = std::floor(coordinate);
  const auto i = static_cast<std::int64_t>(floor);
  const double weight = coordinate - floor;
  const std::int64_t from = extend(i, size, mode);
  return {from, weight == 0.0 ? from : extend(i + 1, size, mode), static_cast<T>(weight)};
}

template <class T>
T mix(T from, T to, T weight) {
  return from + weight * (to - from);
}

/// out = mix(from, to), element by element; what the compiler vectorises.
template <class T>
void mix_rows(T* __restrict out, const T* __restrict from, const T* __restrict to, T weight,
              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = mix(from[i], to[i], weight);
}

/// C: channels if they are known to the compiler, else 0.
template <class T, int C>
class Resampler {
 public:
  Resampler(const Tensor& out, const Tensor& in, const AffineMap& map, const Fill& fill)
      : out_(out.data<T>()),
        in_(in.data<T>()),
        h_(in.size(0)),
        w_(in.size(1)),
        dynamic_c_(in.size(2)),
        mode_(fill.mode),
        value_(static_cast<T>(fill.value)),
        map_(map) {
    // Pixels are counted from the corner here.
    const double cx = static_cast<double>(w_ - 1) / 2, cy = static_cast<double>(h_ - 1) / 2;
    map_.x0 += cx - map.xx * cx - map.xy * cy;
    map_.y0 += cy - map.yx * cx - map.yy * cy;
  }

  void run() {
    if (map_.xy == 0.0 && map_.yx == 0.0)
      run_separable();
    else
      run_general();
  }

 private:
  std::int64_t channels() const { return C > 0 ? C : dynamic_c_; }
  const T* in_row(std::int64_t y) const { return in_ + y * w_ * channels(); }
  void fill_pixels(T* to, std::int64_t count) const { std::fill_n(to, count * channels(), value_); }

  /// Rows and columns do not depend on each other: a row is made of two rows, then a pixel of two pixels.
  void run_separable() {
    mirrored_ = map_.xx < 0.0;
    const double step = std::abs(map_.xx);
    const double start = mirrored_ ? map_.x0 + map_.xx * static_cast<double>(w_ - 1) : map_.x0;
    for (std::int64_t x = 0; x < w_; ++x)
      columns_.push_back(tap_at<T>(start + step * static_cast<double>(x), w_, mode_));
    find_even_columns(step, start);
    mixed_.resize(static_cast<std::size_t>(w_ * channels()));
    line_.resize(mixed_.size());
    for (std::int64_t y = 0; y < h_; ++y) {
      T* out = out_ + y * w_ * channels();
      const Tap<T> rows = tap_at<T>(map_.y0 + map_.yy * static_cast<double>(y), h_, mode_);
      if (rows.from < 0)
        fill_pixels(out, w_);
      else
        make_row(out, rows);
    }
  }

  /// Columns [even_begin_, even_end_) all lie at the same distance from the pixels they are made of.
  void find_even_columns(double step, double start) {
    if (step != 1.0) return;
    const auto first = static_cast<std::int64_t>(std::floor(start));
    const bool whole = start == std::floor(start);
    even_begin_ = std::clamp<std::int64_t>(-first, 0, w_);
    even_end_ = std::clamp<std::int64_t>((whole ? w_ : w_ - 1) - first, even_begin_, w_);
  }

  void make_row(T* out, const Tap<T>& rows) {
    const T* row = in_row(rows.from);
    if (rows.weight != 0) {
      mix_rows(mixed_.data(), row, in_row(rows.to), rows.weight, w_ * channels());
      row = mixed_.data();
    }
    make_line(mirrored_ ? line_.data() : out, row);
    if (!mirrored_) return;
    for (std::int64_t x = 0; x < w_; ++x)
      for (std::int64_t c = 0; c < channels(); ++c)
        out[x * channels() + c] = line_[static_cast<std::size_t>((w_ - 1 - x) * channels() + c)];
  }

  void make_line(T* out, const T* row) const {
    make_pixels(out, row, 0, even_begin_);
    if (even_begin_ < even_end_) {
      const Tap<T>& tap = columns_[static_cast<std::size_t>(even_begin_)];
      const std::int64_t count = (even_end_ - even_begin_) * channels();
      T* to = out + even_begin_ * channels();
      if (tap.weight == 0)
        std::copy_n(row + tap.from * channels(), count, to);
      else
        mix_rows(to, row + tap.from * channels(), row + tap.to * channels(), tap.weight, count);
    }
    make_pixels(out, row, even_end_, w_);
  }

  void make_pixels(T* out, const T* row, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t x = begin; x < end; ++x) {
      const Tap<T>& tap = columns_[static_cast<std::size_t>(x)];
      T* to = out + x * channels();
      if (tap.from < 0)
        fill_pixels(to, 1);
      else
        mix_rows(to, row + tap.from * channels(), row + tap.to * channels(), tap.weight, channels());
    }
  }

  void run_general() {
    T* out = out_;
    for (std::int64_t y = 0; y < h_; ++y) {
      for (std::int64_t x = 0; x < w_; ++x, out += channels()) {
        const double dx = static_cast<double>(x), dy = static_cast<double>(y);
        const Tap<T> column = tap_at<T>(map_.xx * dx + map_.xy * dy + map_.x0, w_, mode_);
        const Tap<T> row = tap_at<T>(map_.yx * dx + map_.yy * dy + map_.y0, h_, mode_);
        if (column.from < 0 || row.from < 0)
          fill_pixels(out, 1);
        else
          make_pixel(out, in_row(row.from), in_row(row.to), row.weight, column);
      }
    }
  }

  void make_pixel(T* out, const T* upper, const T* lower, T weight, const Tap<T>& column) const {
    const std::int64_t left = column.from * channels(), right = column.to * channels();
    for (std::int64_t c = 0; c < channels(); ++c)
      out[c] = mix(mix(upper[left + c], lower[left + c], weight),
                   mix(upper[right + c], lower[right + c], weight), column.weight);
  }

  T* out_;
  const T* in_;
  std::int64_t h_, w_, dynamic_c_;
  FillMode mode_;
  T value_;
  AffineMap map_;
  bool mirrored_ = false;
  std::vector<Tap<T>> columns_;
  std::int64_t even_begin_ = 0, even_end_ = 0;
  std::vector<T> mixed_, line_;  // a row each
};

template <class T>
void resample_as(const Tensor& out, const Tensor& in, const AffineMap& map, const Fill& fill) {
  if (in.size(2) == 1)
    Resampler<T, 1>(out, in, map, fill).run();
  else if (in.size(2) == 3)
    Resampler<T, 3>(out, in, map, fill).run();
  else
    Resampler<T, 0>(out, in, map, fill).run();
}

}  // namespace

void resample(const Tensor& out, const Tensor& in, const AffineMap& map, const Fill& fill) {
  require(in.rank() == 3 && in.shape() == out.shape() && in.dtype() == out.dtype(),
          "[resample] expects two pictures (h, w, c) of one shape and dtype, got ", to_string(in), " and ",
          to_string(out));
  if (in.count() == 0) return;
  visit_real(in.dtype(), "resample", [&](auto real) { resample_as<decltype(real)>(out, in, map, fill); });
}

}  // namespace ronde::inline v0
