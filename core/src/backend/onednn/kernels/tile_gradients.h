/// Gradients of convolutions by tiles: the result's gradient in a frame, and the filters' one.
///
///     sums (tap, o, c) += grad_out (pixel, o)^T * frame (pixel + tap, c)
///
/// The frame is the right operand, in pairs of pixels: an offset by two pixels is one by a whole row of a
/// tile. For odd offsets it lies there a second time, in pairs that begin with the other pixel.
#pragma once

#include "backend/onednn/kernels/pool_window.h"
#include "backend/onednn/kernels/tile_registers.h"
#include "backend/onednn/kernels/tile_results.h"

namespace ronde::inline v0 {
namespace {

// kLanes channels of a gradient.
inline Vector passed(const TileGradient& gradient, std::int64_t at) {
  const Vector value = widened(gradient.grad + at);
  return gradient.y ? masked(widened(gradient.y + at) > Vector{}, value * gradient.scale) : value;
}

// Calls sum(c) for vectors of channels, and adds what it gives to bias_sums, unless that is null.
template <class F>
inline void for_channels(std::int64_t channels, float* bias_sums, const F& sum) {
  cover_once(channels, [&](std::int64_t c, IntVector fresh) {
    const Vector total = sum(c);
    if (bias_sums) store(bias_sums + c, load(bias_sums + c) + masked(fresh, total));
  });
}

void tile_frame_gradient(std::uint16_t* frame, float* bias_sums, const TileGradient& given,
                         const ImageShape& s, PixelPlaces places) {
  const TileGradient gradient = given;
  for_channels(s.c, bias_sums, [&](std::int64_t c) {
    Vector total{};
    for (std::int64_t y = 0; y < s.h; ++y) {
      std::uint16_t* to = frame + places.first + y * places.row_pitch + c;
      for (std::int64_t x = 0; x < s.w; ++x, to += places.pixel_pitch) {
        const Vector value = passed(gradient, (y * s.w + x) * s.c + c);
        store_rounded(to, value);
        total += value;
      }
    }
    return total;
  });
}

// Which pixel of its window each channel's maximum was.
inline HalfVector load_indices(const std::uint8_t* argmax) {
#ifdef __AVX512BW__
  return reinterpret_cast<HalfVector>(_mm256_cvtepu8_epi16(*reinterpret_cast<const __m128i_u*>(argmax)));
#else
  return __builtin_convertvector(ByteVector(*reinterpret_cast<const UnalignedBytes*>(argmax)), HalfVector);
#endif
}

// A window's gradient, rounded, and which pixel of it each channel's maximum was.
struct WindowGradient {
  HalfVector value, winners;

  WindowGradient(Vector gradient, const std::uint8_t* argmax) : winners(load_indices(argmax)) {
    store_rounded(reinterpret_cast<std::uint16_t*>(&value), gradient);
  }
  void write(std::uint16_t* to, int index) const {
    *reinterpret_cast<UnalignedHalves*>(to) =
        value & (winners == static_cast<std::uint16_t>(index) - HalfVector{});
  }
};

// To the window's pixels inside the image.
inline void frame_window(std::uint16_t* frame, const WindowGradient& gradient, const PoolShape& s,
                         const PixelPlaces& places, std::int64_t oy, std::int64_t ox) {
  PoolWindow(s, oy, ox).for_each_place(s, [&](std::int64_t y, std::int64_t x, std::int32_t index) {
    gradient.write(frame + places.first + y * places.row_pitch + x * places.pixel_pitch, index);
  });
}

// The same of a window of 2x2 that is not cut off.
inline void frame_window_2x2(std::uint16_t* to, const WindowGradient& gradient, const PixelPlaces& places) {
  const std::int64_t offsets[] = {0, places.pixel_pitch, places.row_pitch,
                                  places.row_pitch + places.pixel_pitch};
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) gradient.write(to + offsets[k], k);
}

// 2x2, none of them cut off, whole vectors of channels: known to the compiler, they take half the time of
// others.
inline bool are_whole_2x2(const PoolShape& s) {
  return s.window_h == 2 && s.window_w == 2 && s.top == 0 && s.left == 0 && s.c % kLanes == 0 &&
         (s.oh - 1) * s.stride_h + 2 <= s.h && (s.ow - 1) * s.stride_w + 2 <= s.w;
}

// Windows do not overlap; where there is none the frame is 0 and stays so.
void tile_frame_pooled_gradient(std::uint16_t* frame, float* bias_sums, const TileGradient& given,
                                const PoolShape& s, PixelPlaces places) {
  const TileGradient gradient = given;
  const bool is_2x2 = are_whole_2x2(s);
  for_channels(s.c, bias_sums, [&](std::int64_t c) {
    Vector total{};
    for (std::int64_t oy = 0; oy < s.oh; ++oy)
      for (std::int64_t ox = 0; ox < s.ow; ++ox) {
        const std::int64_t at = (oy * s.ow + ox) * s.c + c;
        const Vector value = passed(gradient, at);
        const WindowGradient window(value, gradient.argmax + at);
        total += value;
        if (is_2x2)
          frame_window_2x2(frame + places.first + oy * s.stride_h * places.row_pitch +
                               ox * s.stride_w * places.pixel_pitch + c,
                           window, places);
        else
          frame_window(frame + c, window, s, places, oy, ox);
      }
    return total;
  });
}

// The operands, in tiles.
class GradientOperands {
 public:
  GradientOperands(const TileGradientOperands& of, const TileConvShape& s, std::uint16_t* scratch)
      : pair_tile_(s.pair_elements()),
        pairs_of_odd_(s.channel_tiles() * pair_tile_),
        gradient_tile_(s.pixels() * kTileRows),
        pairs_(scratch),
        gradient_(pairs_ + 2 * pairs_of_odd_) {
    make_pairs(of.x_frame, s.channel_tiles(), s.pitch());
    make_gradient(of, s.column_tiles(), s.used_pixels());
  }

  // Of the first pixels, and those that lie at an offset from them.
  TileOperands at(std::int64_t offset, std::int64_t row_tile, std::int64_t channel_tile) const {
    const std::uint16_t* pairs = pairs_ + offset % 2 * pairs_of_odd_ + channel_tile * pair_tile_;
    return {gradient_ + row_tile * gradient_tile_, pairs + offset / 2 * kTileDepth, gradient_tile_,
            pair_tile_, kTileDepth};
  }

 private:
  // Pairs of pixels (0, 1), (2, 3), ... and (1, 2), (3, 4), ...
  void make_pairs(const std::uint16_t* frame, std::int64_t channel_tiles, std::int64_t pitch) const {
    for (std::int64_t tile = 0; tile < channel_tiles; ++tile) {
      const std::uint16_t* from = frame + tile * kTileColumns;
      std::uint16_t* to = pairs_ + tile * pair_tile_;
      WordVector first = load_halves(from);
      for (const std::uint16_t* end = to + pair_tile_; to < end; to += kTileDepth) {
        const WordVector second = load_halves(from + pitch), third = load_halves(from += 2 * pitch);
        store_pairs(to, reinterpret_cast<Vector>(first | second << 16));
        store_pairs(to + pairs_of_odd_, reinterpret_cast<Vector>(second | third << 16));
        first = third;
      }
    }
  }
  // Left tiles (row tile, pixels).
  void make_gradient(const TileGradientOperands& of, std::int64_t row_tiles, std::int64_t used_pixels) const {
    std::int32_t room[kTileDepth];
    const std::int64_t pixels = gradient_tile_ / kTileRows;
    for (std::int64_t pixel = 0; pixel < pixels; pixel += kTileDepth) {
      const std::int32_t* places = of.places + pixel;
      if (pixel + kTileDepth > used_pixels) {
        for (std::int64_t i = 0; i < kTileDepth; ++i) room[i] = pixel + i < used_pixels ? places[i] : of.zero;
        places = room;
      }
      for (std::int64_t tile = 0; tile < row_tiles; ++tile)
        pack_transposed_places(gradient_ + tile * gradient_tile_ + pixel * kTileRows,
                               of.gradient + tile * kTileColumns, places);
    }
  }

  const std::int64_t pair_tile_, pairs_of_odd_, gradient_tile_;  // elements
  std::uint16_t *const pairs_, *const gradient_;
};

// Sums lie as (tap, row tile, channel tile).
void add_tile_conv_gradient(float* sums, const TileGradientOperands& of, const TileConvShape& s,
                            std::uint16_t* scratch) {
  const GradientOperands operands(of, s, scratch);
  const Tiles tiles;
  const std::int64_t channel_tiles = s.channel_tiles(), row_tiles = s.column_tiles(),
                     steps = s.pixels() / kTileDepth, row = channel_tiles * kTileSums, tap_rows = s.kh,
                     tap_columns = s.tap_columns(), frame_row = s.frame_w();
  for_pairs(row_tiles, [&]<int rows>(std::int64_t row_tile) {
    for_pairs(channel_tiles, [&]<int columns>(std::int64_t channel_tile) {
      TileSums to{sums + row_tile * row + channel_tile * kTileSums, row, kTileSums};
      for (std::int64_t y = 0; y < tap_rows; ++y)
        for (std::int64_t x = 0; x < tap_columns; ++x, to.first += row_tiles * row) {
          load_sums<rows, columns>(tiles, to);
          TileOperands from = operands.at(y * frame_row + x, row_tile, channel_tile);
          for (std::int64_t step = 0; step < steps; ++step) {
            add_products<rows, columns>(tiles, from);
            from.left += kTileElements;
            from.right += kTileElements;
          }
          store_sums<rows, columns>(tiles, to);
        }
    });
  });
}

void tile_conv_gradient(float* grad_weight, const float* sums, const TileConvShape& s, std::int64_t begin,
                        std::int64_t end) {
  const std::int64_t depth = s.tap_depth(), channel_tiles = s.channel_tiles(), taps = s.taps();
  for (std::int64_t o = begin * kTileRows; o < at_most(s.o, end * kTileRows); ++o)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const float* row = sums + (tap * s.column_tiles() + o / kTileRows) * channel_tiles * kTileSums +
                         o % kTileRows * kTileColumns;
      float* to = grad_weight + (o * taps + tap) * depth;
      for (std::int64_t c = 0; c < depth; c += kTileColumns, row += kTileSums)
        for (std::int64_t k = 0; k < at_most(depth - c, kTileColumns); ++k) to[c + k] = row[k];
    }
}

}  // namespace
}  // namespace ronde::inline v0
