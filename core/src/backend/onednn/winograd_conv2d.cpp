// Note [Winograd]
// F(4x4, 3x3) needs a quarter of a direct convolution's multiplications, larger tiles less; after the
// transforms, two to two and a half times its speed is left. The price is rounding: in f32 a result is off by
// up to 1e-5 of the largest value in its tensor, with tiles of 6x6 by up to 2e-5, where the direct kernels
// stay below 1e-6. RONDE_CONV=direct chooses these. Both keep a fixed order of operations: a batch cut into
// the same chunks gives the same bits.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <ronde/core/error.h>
#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

namespace {

// Transformed filters go by for each block of tiles: few of them stay in the second level cache beside a
// small block, which is then the best one; many come from memory, and larger blocks use them longer. Of 24,
// 48 and 96 tiles the best were 24 for 64 x 64 channels (less by a tenth), 48 for 64 x 256 (by a quarter), 96
// for 256 x 256 (by a fifth).
constexpr std::int64_t kFewFilters = 64 * 64;
// Of the pixels that the tiles of an image have, at least this share must be pixels of the image.
constexpr double kLeastUse = 0.4;

std::int64_t tiles_of(std::int64_t size, int tile) {
  return ceil_divide<std::int64_t>(size, tile);
}

// Larger tiles need fewer multiplications where they fit the image, and round more: an eighth has to be
// saved.
int best_tile(std::int64_t oh, std::int64_t ow) {
  const auto products = [=](int tile) {
    return tiles_of(oh, tile) * tiles_of(ow, tile) * winograd_points(tile);
  };
  int best = 4;
  for (const int tile : {5, 6})
    if (8 * products(tile) <= 7 * products(best)) best = tile;
  return best;
}

}  // namespace

ConvAlgorithm chosen_conv_algorithm() {
  const char* wanted = std::getenv("RONDE_CONV");
  if (!wanted || !*wanted || std::string_view(wanted) == "winograd") return ConvAlgorithm::winograd;
  require<UsageError>(std::string_view(wanted) == "direct", "[conv2d] RONDE_CONV=", wanted,
                      " is none of winograd, direct");
  return ConvAlgorithm::direct;
}

WinogradShape winograd_shape(const ConvProblem& p) {
  const int tile = best_tile(p.oh, p.ow);
  return {.h = p.h,
          .w = p.w,
          .c = p.c,
          .oh = p.oh,
          .ow = p.ow,
          .o = p.o,
          .all_c = std::max(p.c, p.all_c),
          .all_o = std::max(p.o, p.all_o),
          .top = p.params.padding.top,
          .left = p.params.padding.left,
          .tile = tile,
          .tiles_h = tiles_of(p.oh, tile),
          .tiles_w = tiles_of(p.ow, tile),
          .block = p.c * p.o <= kFewFilters       ? 24
                   : p.c * p.o <= 4 * kFewFilters ? 48
                                                  : 96};
}

bool holds_windows(const ConvProblem& p, const PoolShape& pool) {
  const bool is_2x2 = pool.window_h == 2 && pool.window_w == 2 && pool.stride_h == 2 && pool.stride_w == 2 &&
                      pool.top == 0 && pool.left == 0;
  return is_2x2 && winograd_shape(p).tile % 2 == 0 && p.oh == 2 * pool.oh && p.ow == 2 * pool.ow;
}

bool OneDnnBackend::is_winograd(const ConvProblem& p) const {
  const Padding2d& pad = p.params.padding;
  if (!uses_winograd_ || p.kh != 3 || p.kw != 3 || p.params.groups != 1) return false;
  if (!(p.params.stride == Size2d{}) || !(p.params.dilation == Size2d{})) return false;
  if (std::max({pad.top, pad.bottom, pad.left, pad.right}) > 2) return false;
  if (p.c < kernels_.lanes || p.o < kernels_.lanes) return false;
  const WinogradShape s = winograd_shape(p);
  const std::int64_t pixels = s.tile * s.tile * s.tiles_h * s.tiles_w;
  return static_cast<double>(p.oh * p.ow) >= kLeastUse * static_cast<double>(pixels);
}

std::int64_t winograd_filters(const ConvProblem& p, std::int64_t lanes) {
  const bool forward = p.pass == ConvPass::forward;
  const std::int64_t depth = forward ? p.c : p.o, columns = forward ? p.o : p.c;
  return winograd_points(winograd_shape(p).tile) * winograd_filter_point(depth, columns, lanes);
}

// Some rows at a time, which the threads share: done by one of them, it took as long as a tenth of the
// convolution of a small batch.
void ImagePass::prepare_winograd(const float* weight) {
  constexpr std::int64_t kRows = 16;  // that lie in one cache line
  const ConvProblem& p = problem_;
  const bool forward = p.pass == ConvPass::forward;
  const WinogradFilters filters{.depth = forward ? p.c : p.o,
                                .columns = forward ? p.o : p.c,
                                .pitch = forward ? p.c : std::max(p.c, p.all_c),
                                .tile = winograd_shape(p).tile,
                                .by_column = forward};
  backend_.threads().parallel_for(ceil_divide(filters.depth, kRows), 1,
                                  [&](std::int64_t begin, std::int64_t end) {
                                    kernels_.winograd_filters(weights_.data(), weight, filters, begin * kRows,
                                                              std::min(end * kRows, filters.depth));
                                  });
}

}  // namespace ronde::inline v0
