/// Convolution of one image by a few filters, vectorised over what lies under a filter: a row of it, kw
/// pixels with all their channels, lies side by side in the image and in the filter alike.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/lane_sums.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr int kFewPixels = 4, kFewFilters = kVectorRegisters >= 32 ? 4 : 2;  // of a block, in registers

constexpr int power_of_two_from(int n) {
  return n <= 1 ? 1 : 2 * power_of_two_from((n + 1) / 2);
}

// `pixels` neighbours in a row of the result and `filters` filters; the pointers begin at the first of them.
// Of the last vector of a row only the `fresh` lanes count.
template <int pixels, int filters>
[[gnu::noinline]] void few_filters_block(float* out, const float* x, const float* weight, const float* bias,
                                         const ConvShape& s, IntVector fresh, Epilogue epilogue) {
  const std::int64_t row = s.kw * s.c, filter = s.kh * row, pixel = s.stride_w * s.c;
  constexpr int kSums = power_of_two_from(pixels * filters), kTogether = kSums < kLanes ? kSums : kLanes;
  Vector total[kSums] = {};
  for (std::int64_t ky = 0; ky < s.kh; ++ky, x += s.w * s.c, weight += row)
    for (std::int64_t t = 0; t < row; t += kLanes) {
      const bool is_last = t + kLanes > row;
      const std::int64_t at = is_last ? row - kLanes : t;
      Vector w[filters];
#pragma GCC unroll 4
      for (int f = 0; f < filters; ++f) {
        w[f] = load(weight + f * filter + at);
        if (is_last) w[f] = masked(fresh, w[f]);
      }
#pragma GCC unroll 4
      for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 4
        for (int f = 0; f < filters; ++f) total[p * filters + f] += w[f] * load(x + p * pixel + at);
    }
  float sums[kSums < kLanes ? kLanes : kSums];
#pragma GCC unroll 4
  for (int i = 0; i < kSums; i += kTogether) store(sums + i, sums_of_lanes<kTogether>(total + i));
  for (int p = 0; p < pixels; ++p)
    for (int f = 0; f < filters; ++f) {
      const float sum = sums[p * filters + f] + (bias ? bias[f] : 0.0f);
      out[p * s.o + f] = epilogue == Epilogue::relu && sum <= 0 ? 0.0f : sum;
    }
}

// A row of the result; blocks at its end have some pixels again.
template <int filters>
inline void few_filters_row(float* out, const float* x, const float* weight, const float* bias,
                            const ConvShape& s, IntVector fresh, Epilogue epilogue) {
  const auto block = [&]<int pixels>(std::int64_t ox) {
    few_filters_block<pixels, filters>(out + ox * s.o, x + ox * s.stride_w * s.c, weight, bias, s, fresh,
                                       epilogue);
  };
  for (std::int64_t ox = 0; ox < s.ow; ox += kFewPixels) {
    const std::int64_t left = s.ow - kFewPixels;
    if (left >= 0)
      block.template operator()<kFewPixels>(ox < left ? ox : left);
    else
      for (std::int64_t i = 0; i < s.ow; ++i) block.template operator()<1>(i);
  }
}

template <int most>
inline void few_filters_row_of(std::int64_t filters, float* out, const float* x, const float* weight,
                               const float* bias, const ConvShape& s, IntVector fresh, Epilogue epilogue) {
  if (filters >= most) return few_filters_row<most>(out, x, weight, bias, s, fresh, epilogue);
  if constexpr (most > 1) few_filters_row_of<most - 1>(filters, out, x, weight, bias, s, fresh, epilogue);
}

void few_filters_conv(float* out, const float* x, const float* weight, const float* bias, const ConvShape& s,
                      Epilogue epilogue) {
  const std::int64_t row = s.kw * s.c, filter = s.kh * row;
  const IntVector fresh = lanes_from((kLanes - row % kLanes) % kLanes);
  for (std::int64_t oy = 0; oy < s.oh; ++oy)
    for (std::int64_t f = 0; f < s.o; f += kFewFilters)
      few_filters_row_of<kFewFilters>(s.o - f, out + oy * s.ow * s.o + f, x + oy * s.stride_h * s.w * s.c,
                                      weight + f * filter, bias ? bias + f : bias, s, fresh, epilogue);
}

}  // namespace
}  // namespace ronde::inline v0
