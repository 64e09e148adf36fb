#include <algorithm>
#include <type_traits>
#include <vector>

#include "pictures/change_picture.h"
#include "pictures/taps.h"

namespace ronde::inline v0 {
namespace {

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
  Resampler(T* out, const T* in, const PictureExtent& extent, const AffineMap& map, const Fill& fill)
      : out_(out),
        in_(in),
        h_(extent.h),
        w_(extent.w),
        dynamic_c_(extent.c),
        mode_(fill.mode),
        value_(static_cast<T>(fill.value)),
        map_(from_corner(map, h_, w_)) {}

  void run() {
    if (is_separable(map_))
      run_separable();
    else
      run_general();
  }

 private:
  std::int64_t channels() const { return C > 0 ? C : dynamic_c_; }
  const T* in_row(std::int64_t y) const { return in_ + y * w_ * channels(); }
  void fill_pixels(T* to, std::int64_t count) const { std::fill_n(to, count * channels(), value_); }

  /// A row is made of two rows, then a pixel of two pixels.
  void run_separable() {
    const Axis across(map_.xx, map_.x0, w_), down(map_.yy, map_.y0, h_);
    mirrored_ = across.is_mirrored;
    for (std::int64_t x = 0; x < w_; ++x) columns_.push_back(tap_at<T>(across.unmirrored(x), w_, mode_));
    find_even_columns(across);
    mixed_.resize(static_cast<std::size_t>(w_ * channels()));
    line_.resize(mixed_.size());
    for (std::int64_t y = 0; y < h_; ++y) {
      T* out = out_ + y * w_ * channels();
      const Tap<T> rows = tap_at<T>(down.at(y), h_, mode_);
      if (rows.from < 0)
        fill_pixels(out, w_);
      else
        make_row(out, rows);
    }
  }

  /// Columns [even_begin_, even_end_) all lie at the same distance from the pixels they are made of.
  void find_even_columns(const Axis& across) {
    if (across.step != 1.0) return;
    const Position first = position_of(across.start);
    even_begin_ = std::clamp<std::int64_t>(-first.whole, 0, w_);
    even_end_ = std::clamp<std::int64_t>((first.part == 0.0 ? w_ : w_ - 1) - first.whole, even_begin_, w_);
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
        const Tap<T> column = tap_at<T>(column_of(map_, y, x), w_, mode_);
        const Tap<T> row = tap_at<T>(row_of(map_, y, x), h_, mode_);
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

}  // namespace

template <class T>
void resample_picture(T* out, const T* in, const PictureExtent& extent, const AffineMap& map,
                      const Fill& fill) {
  if (extent.count() == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (extent.c == 1) return Resampler<T, 1>(out, in, extent, map, fill).run();
    if (extent.c == 3) return Resampler<T, 3>(out, in, extent, map, fill).run();
  }
  Resampler<T, 0>(out, in, extent, map, fill).run();
}

template void resample_picture(float*, const float*, const PictureExtent&, const AffineMap&, const Fill&);
template void resample_picture(double*, const double*, const PictureExtent&, const AffineMap&, const Fill&);

}  // namespace ronde::inline v0
