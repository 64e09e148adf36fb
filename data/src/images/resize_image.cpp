#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/error.h>
#include <ronde/data/image_file.h>

#include "images/codecs.h"

// Two passes, rows first, each rounded to bytes; weights in fixed point. So results are the same on every
// machine, and those of Pillow's BILINEAR.

namespace ronde::inline v0 {
namespace {

constexpr int kWeightBits = 22;

/// Output i is the weighted sum of inputs first ... first + weights.size() - 1.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

/// A triangle around the pixel's centre, as wide as one input pixel to each side, or as one output pixel
/// where that is larger; cut at the border.
std::vector<Taps> triangle_taps(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Taps> all(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<std::int64_t>(std::max(centre - reach + 0.5, 0.0));
    const auto end = std::min(static_cast<std::int64_t>(centre + reach + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t x = first; x < end; ++x) {
      weights.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(x) + 0.5 - centre) / reach)));
      sum += weights.back();
    }
    Taps& taps = all[static_cast<std::size_t>(i)];
    taps.first = first;
    for (const double weight : weights)
      taps.weights.push_back(static_cast<std::int32_t>(std::lround(weight / sum * (1 << kWeightBits))));
  }
  return all;
}

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// (rows, width, channels) to (rows, taps.size(), channels)
template <int channels>
std::vector<std::uint8_t> resize_width(const std::vector<std::uint8_t>& image, std::int64_t width,
                                       const std::vector<Taps>& taps) {
  const std::size_t row = static_cast<std::size_t>(width) * channels;
  std::vector<std::uint8_t> out(image.size() / row * taps.size() * channels);
  std::uint8_t* to = out.data();
  for (const std::uint8_t* from = image.data(); from < image.data() + image.size(); from += row)
    for (const Taps& one : taps) {
      std::array<std::int32_t, channels> sums;
      sums.fill(kHalf);
      const std::uint8_t* x = from + one.first * channels;
      for (const std::int32_t weight : one.weights)
        for (std::int32_t& sum : sums) sum += weight * *x++;
      for (const std::int32_t sum : sums) *to++ = to_byte(sum);
    }
  return out;
}

/// (height, row) to (taps.size(), row)
std::vector<std::uint8_t> resize_height(const std::vector<std::uint8_t>& image, std::size_t row,
                                        const std::vector<Taps>& taps) {
  std::vector<std::uint8_t> out(taps.size() * row);
  std::vector<std::int32_t> sums(row);
  std::uint8_t* to = out.data();
  for (const Taps& one : taps) {
    std::fill(sums.begin(), sums.end(), kHalf);
    const std::uint8_t* x = image.data() + static_cast<std::size_t>(one.first) * row;
    for (const std::int32_t weight : one.weights)
      for (std::int32_t& sum : sums) sum += weight * *x++;
    for (const std::int32_t sum : sums) *to++ = to_byte(sum);
  }
  return out;
}

}  // namespace

Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width) {
  check_image(image, "resize_image");
  require<UsageError>(height >= 1 && height <= kMaxImageSide && width >= 1 && width <= kMaxImageSide,
                      "[resize_image] expects sides of 1 to ", kMaxImageSide, ", got ", width, " x ", height);
  const Tensor pixels = image.contiguous();
  const std::int64_t h = image.size(0), w = image.size(1), c = image.size(2);
  std::vector<std::uint8_t> rows(pixels.data<std::uint8_t>(), pixels.data<std::uint8_t>() + pixels.count());
  if (width != w) rows = (c == 1 ? resize_width<1> : resize_width<3>)(rows, w, triangle_taps(w, width));
  if (height != h) rows = resize_height(rows, static_cast<std::size_t>(width * c), triangle_taps(h, height));
  return Tensor::from<std::uint8_t>({height, width, c}, rows, &image.backend());
}

}  // namespace ronde::inline v0
