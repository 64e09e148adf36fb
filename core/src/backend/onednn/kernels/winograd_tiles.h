/// Winograd's tiles between an image and the matrices of the points: which pixels a tile has, and the
/// transforms that read or write them.
///
/// A vector of channels is transformed at a time. Most tiles lie in their image with all pixels, which two
/// strides find: by a table of pointers, as those of other tiles are, transforms took a quarter to a half
/// longer.
#pragma once

#include "backend/onednn/kernels/winograd_products.h"
#include "backend/onednn/kernels/winograd_shape.h"
#include "backend/onednn/kernels/winograd_transforms.h"

namespace ronde::inline v0 {
namespace {

// A tile among those of a batch, in raster order.
struct TilePlace {
  std::int64_t image = 0, row = 0, column = 0;

  void advance(const WinogradShape& s) {
    if (++column < s.tiles_w) return;
    column = 0;
    if (++row < s.tiles_h) return;
    row = 0;
    ++image;
  }
  void advance_by(std::int64_t n, const WinogradShape& s) {
    const std::int64_t tiles = (image * s.tiles_h + row) * s.tiles_w + column + n;
    column = tiles % s.tiles_w;
    row = tiles / s.tiles_w % s.tiles_h;
    image = tiles / s.tiles_w / s.tiles_h;
  }
};

// A vector of channels of a tile that lies in its image: elements from one row, one pixel to the next.
template <class Float>
struct PixelsInside {
  Float* first;
  std::int64_t row, pixel;

  [[gnu::always_inline]] Float* at(int i, int j) const { return first + i * row + j * pixel; }
};

// The same of any tile.
template <int size, class Float>
struct PixelTable {
  Float* pixels[size][size];
  std::int64_t channel;

  [[gnu::always_inline]] Float* at(int i, int j) const { return pixels[i][j] + channel; }
};

// What is in the place of pixels outside of the image: elements from one to the next.
template <class Float>
struct Outside {
  Float* first;
  std::int64_t step;
};

// Whether tiles that lie in their image have kernels of their own. With few, short vectors they would be
// 51 KB for 1 to 3 % of the speed of two nets, and for nothing in a third.
inline constexpr bool kKnowsInside = RONDE_VECTOR_BYTES > 16 || RONDE_VECTOR_REGISTERS > 16;

// The size x size pixels of an image (h, w, c) from (top, left) on.
template <int size, class Float>
class TilePixels {
 public:
  TilePixels(Float* image, const WinogradImage& shape, std::int64_t top, std::int64_t left)
      : image_(image), shape_(shape), top_(top), left_(left) {}

  // Calls f(pixels_from) with a function that gives the pixels' channels from k on.
  template <class F>
  [[gnu::always_inline]] void find(const Outside<Float>& outside, const F& f) const {
    if constexpr (kKnowsInside) {
      if (is_inside()) {
        Float* first = image_ + (top_ * shape_.w + left_) * shape_.c;
        return f([=, this](std::int64_t k) {
          return PixelsInside<Float>{first + k, shape_.w * shape_.c, shape_.c};
        });
      }
    }
    PixelTable<size, Float> table = this->table(outside);
    f([&](std::int64_t k) -> const PixelTable<size, Float>& {
      table.channel = k;
      return table;
    });
  }
  PixelTable<size, Float> table(const Outside<Float>& outside) const {
    PixelTable<size, Float> table;
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j) {
        const std::int64_t y = top_ + i, x = left_ + j;
        const bool is_pixel = y >= 0 && y < shape_.h && x >= 0 && x < shape_.w;
        table.pixels[i][j] =
            is_pixel ? image_ + (y * shape_.w + x) * shape_.c : outside.first + (i * size + j) * outside.step;
      }
    return table;
  }

 private:
  bool is_inside() const {
    return top_ >= 0 && left_ >= 0 && top_ + size <= shape_.h && left_ + size <= shape_.w;
  }

  Float* image_;
  WinogradImage shape_;
  std::int64_t top_, left_;
};

template <class Transform, class Pixels>
[[gnu::noinline]] inline void load_vector(float* to, std::int64_t point, const Pixels& from) {
  transform_tile<Transform>(
      [&](int i, int j) { return load(from.at(i, j)); },
      [&](int i, int j, Vector v) { store(to + (i * Transform::kOut + j) * point, v); });
}

template <class Transform>
inline void load_tile(float* to, std::int64_t point, const TilePixels<Transform::kIn, const float>& tile,
                      std::int64_t c, const float* zeros) {
  tile.find({zeros, 0}, [&](const auto& pixels_from) {
    cover(c, [&](std::int64_t k) { load_vector<Transform>(to + k, point, pixels_from(k)); });
  });
}

// The n tiles from `place` on of x.
template <int m>
[[gnu::noinline]] inline void load_inputs(const WinogradPoints& to, const float* x, TilePlace place,
                                          std::int64_t n, const WinogradShape& s, const float* zeros) {
  for (std::int64_t t = 0; t < n; ++t, place.advance(s))
    load_tile<InputTransform<m>>(
        to.values + t * to.pitch, to.point,
        {x + place.image * s.input().elements(), s.input(), place.row * m - s.top, place.column * m - s.left},
        s.c, zeros);
}

template <int m>
[[gnu::noinline]] inline void load_output_gradients(const WinogradPoints& to, const float* grad_out,
                                                    TilePlace place, std::int64_t n, const WinogradShape& s,
                                                    const float* zeros) {
  for (std::int64_t t = 0; t < n; ++t, place.advance(s))
    load_tile<OutputGradientTransform<m>>(
        to.values + t * to.pitch, to.point,
        {grad_out + place.image * s.output().elements(), s.output(), place.row * m, place.column * m}, s.o,
        zeros);
}

// `least`: what is not above it becomes 0; a NaN leaves everything as it is.
template <int m, class Pixels>
[[gnu::noinline]] inline void store_output_vector(const Pixels& to, const float* from, std::int64_t point,
                                                  Vector bias, Vector least) {
  transform_tile<OutputTransform<m>>([&](int i, int j) { return load(from + (i * (m + 2) + j) * point); },
                                     [&](int i, int j, Vector v) {
                                       const Vector y = v + bias;
                                       store(to.at(i, j), masked(~(y <= least), y));
                                     });
}

template <int m>
[[gnu::noinline]] inline void store_outputs(float* out, const WinogradPoints& results,
                                            const OutsidePixels& outside, TilePlace place, std::int64_t n,
                                            const WinogradShape& s, const float* bias, Epilogue epilogue) {
  const Vector least = splat(epilogue == Epilogue::relu ? 0.0f : __builtin_nanf(""));
  for (std::int64_t t = 0; t < n; ++t, place.advance(s)) {
    const TilePixels<m, float> tile(out + place.image * s.output().elements(), s.output(), place.row * m,
                                    place.column * m);
    const float* from = results.values + t * results.pitch;
    tile.find({outside.dump, outside.kDumpStep}, [&](const auto& pixels_from) {
      cover(s.o, [&](std::int64_t k) {
        store_output_vector<m>(pixels_from(k), from + place_of(k), results.point,
                               bias ? load(bias + k) : Vector{}, least);
      });
    });
  }
}

// Neighbouring tiles overlap by two pixels. Tiles come in raster order, so a pixel was written before exactly
// if it is in the first two rows of a tile that has one above, or the first two columns of one that has one
// to its left: only then is there something to add to, and grad_x needs no zeros.
struct WrittenBefore {
  IntVector above, left, corner;

  explicit WrittenBefore(const TilePlace& place)
      : above(IntVector{} - (place.row > 0)), left(IntVector{} - (place.column > 0)), corner(above | left) {}
  [[gnu::always_inline]] Vector sum(int i, int j, Vector v, const float* there) const {
    if (i >= 2 && j >= 2) return v;
    return v + masked(i >= 2 ? left : j >= 2 ? above : corner, load(there));
  }
};

// The same for lanes some of which an earlier vector has written: only those that are `fresh` change.
struct WrittenLanes {
  WrittenBefore before;
  IntVector fresh;

  [[gnu::always_inline]] Vector sum(int i, int j, Vector v, const float* there) const {
    return select(fresh, before.sum(i, j, v, there), load(there));
  }
};

template <int m, class Pixels, class Written>
[[gnu::noinline]] inline void add_input_gradient_vector(const Pixels& to, const float* from,
                                                        std::int64_t point, const Written& written) {
  transform_tile<InputGradientTransform<m>>(
      [&](int i, int j) { return load(from + (i * (m + 2) + j) * point); },
      [&](int i, int j, Vector v) { store(to.at(i, j), written.sum(i, j, v, to.at(i, j))); });
}

template <int m>
[[gnu::noinline]] inline void store_input_gradients(float* grad_x, const WinogradPoints& results,
                                                    const OutsidePixels& outside, TilePlace place,
                                                    std::int64_t n, const WinogradShape& s) {
  const std::int64_t whole = s.c / kLanes * kLanes;
  for (std::int64_t t = 0; t < n; ++t, place.advance(s)) {
    const TilePixels<m + 2, float> tile(grad_x + place.image * s.input().elements(), s.input(),
                                        place.row * m - s.top, place.column * m - s.left);
    const WrittenBefore before(place);
    const float* from = results.values + t * results.pitch;
    tile.find({outside.dump, outside.kDumpStep}, [&](const auto& pixels_from) {
      for (std::int64_t k = 0; k < whole; k += kLanes)
        add_input_gradient_vector<m>(pixels_from(k), from + k, results.point, before);
    });
    if (whole == s.c) continue;
    PixelTable<m + 2, float> last = tile.table({outside.dump, outside.kDumpStep});
    last.channel = s.c - kLanes;
    add_input_gradient_vector<m>(last, from + whole, results.point,
                                 WrittenLanes{before, lanes_from(whole - last.channel)});
  }
}

inline void fill_zeros(float* values, std::int64_t n) {
  cover(n, [=](std::int64_t i) { store(values + i, Vector{}); });
}

// What no tile reaches, as the output is not the whole one: its gradient there is 0.
inline void clear_rest(float* grad_x, const WinogradShape& s, std::int64_t images) {
  const std::int64_t rows = s.tiles_h * s.tile + 2 - s.top, columns = s.tiles_w * s.tile + 2 - s.left;
  if (rows >= s.h && columns >= s.w) return;
  for (std::int64_t y = 0; y < images * s.h; ++y)
    for (std::int64_t x = y % s.h < rows ? columns : 0; x < s.w; ++x)
      fill_zeros(grad_x + (y * s.w + x) * s.all_c, s.c);
}

}  // namespace
}  // namespace ronde::inline v0
