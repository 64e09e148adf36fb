// Note [Few images]
// A batch with fewer images than there are threads has no image for some of them; they share what else there
// is. Products of patches are cut along the weights (patch_conv2d.cpp), and all gradients of 1x1 layers are
// made of them. By the direct kernels and by oneDNN each thread makes some rows of an image, by Winograd's,
// where an image has many tiles, some of these; where it has few, all tiles but some of the channels. So they
// do of any batch with few tiles beside its filters (Note [Few tiles] in kernels/winograd_few_tiles.h), which
// otherwise each would transform.
#include <algorithm>

#include <ronde/core/whole_numbers.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

namespace {

// Multiplications of a direct convolution that pay for waking a thread.
constexpr std::int64_t kPartGrain = std::int64_t{1} << 20;
// Fewer channels than these spend more than a fifth of their time in the transforms, which each part repeats.
constexpr std::int64_t kLeastChannels = 32;
// Tiles that each part has at least where they are shared.
constexpr std::int64_t kLeastTiles = 48;

std::int64_t shared_channels(const ConvProblem& p) {
  return p.pass == ConvPass::backward_input ? p.c : p.o;
}

// Tiles of a batch that share a block, and filters that do not fill the second level cache when transformed.
constexpr std::int64_t kFewTiles = 96, kCachedFilters = 64 * 64;

bool has_few_tiles(const ConvProblem& p) {
  return p.n * winograd_shape(p).tiles() <= kFewTiles && p.c * p.o > kCachedFilters;
}

WinogradShape in_one_block(const ConvProblem& p) {
  WinogradShape s = winograd_shape(p);
  s.block = round_up<std::int64_t>(p.n * s.tiles(), 12);
  return s;
}

std::int64_t products_of(const ConvProblem& p) {
  return p.n * out_elements(p) * p.kh * p.kw * p.c / p.params.groups;
}

// Calls f(first, count) for `parts` parts of all channels, on as many threads; each part has whole groups of
// them, the last one the rest too.
template <class F>
void for_channels(ThreadPool& threads, std::int64_t channels, std::int64_t parts, const F& f) {
  const std::int64_t groups = channels / kLeastChannels;
  threads.parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = groups * part / parts * kLeastChannels;
      const std::int64_t behind = part + 1 == parts ? channels : groups * (part + 1) / parts * kLeastChannels;
      f(first, behind - first);
    }
  });
}

ConvProblem with_some_filters(const ConvProblem& whole, std::int64_t count) {
  ConvProblem p = whole;
  p.o = count;
  p.all_o = whole.o;
  return p;
}

}  // namespace

ImageBand::ImageBand(const ConvProblem& whole, ImagePart part) : problem(whole) {
  const std::int64_t begin = part.begin(whole.oh), end = part.end(whole.oh), stride = whole.params.stride.h;
  const std::int64_t first = begin * stride - whole.params.padding.top;
  const std::int64_t last =
      (end - 1) * stride - whole.params.padding.top + (whole.kh - 1) * whole.params.dilation.h;
  const std::int64_t top = std::clamp<std::int64_t>(first, 0, whole.h);
  const std::int64_t behind = std::clamp<std::int64_t>(last + 1, top, whole.h);
  problem.n = 1;
  problem.h = behind - top;
  problem.oh = end - begin;
  problem.params.padding.top = top - first;
  problem.params.padding.bottom = last + 1 - behind;
  in = top * whole.w * whole.c;
  out = begin * whole.ow * whole.o;
}

bool has_few_images(const ThreadPool& threads, const ConvProblem& p) {
  return threads.chunks(p.n + 1, 1) > p.n;
}

std::int64_t parts_of_image(const ThreadPool& threads, const ConvProblem& p) {
  if (!has_few_images(threads, p)) return 1;
  const std::int64_t most = std::min(p.oh, products_of(p) / kPartGrain + 1);
  return std::min<std::int64_t>(ceil_divide<std::int64_t>(threads.chunks(p.n * most, 1), p.n), most);
}

std::int64_t bands_of_image(const ThreadPool& threads, const ConvProblem& p) {
  const std::int64_t parts = parts_of_image(threads, p);
  for (std::int64_t i = 0; i < parts; ++i)
    if (ImageBand(p, {i, parts}).problem.h == 0) return 1;  // all of it is padding
  return parts;
}

std::int64_t parts_of_channels(const ThreadPool& threads, const ConvProblem& p, ConvKernels kernels) {
  if (kernels != ConvKernels::winograd || !(has_few_tiles(p) || has_few_images(threads, p))) return 0;
  const std::int64_t most = std::min(shared_channels(p) / kLeastChannels, products_of(p) / kPartGrain);
  const std::int64_t parts = threads.chunks(std::max<std::int64_t>(most, 1), 1);
  if (has_few_tiles(p)) return parts;
  const bool has_many_tiles = p.pass == ConvPass::forward && winograd_shape(p).tiles() >= kLeastTiles * parts;
  return parts == 1 || has_many_tiles ? 0 : parts;
}

void OneDnnBackend::share_conv2d(const ConvProblem& p, std::int64_t parts, float* out, const float* x,
                                 const float* weight, const float* bias) {
  for_channels(threads(), p.o, parts, [&](std::int64_t first, std::int64_t count) {
    const ConvProblem some = with_some_filters(p, count);
    const float *filters = weight + first * 9 * p.c, *their_bias = bias ? bias + first : nullptr;
    if (has_few_tiles(p)) {
      const WinogradShape s = in_one_block(some);
      const Scratch<float> scratch(*this, FewTiles::count(s, s.c, s.o));
      kernels_.winograd_conv_few(out + first, x, filters, their_bias, s, p.n, scratch.data(),
                                 p.relu ? Epilogue::relu : Epilogue::none);
    } else {
      const ImagePass pass(*this, kernels_, ConvKernels::winograd, some, filters, their_bias);
      const ImagePass::Runner run(pass);
      run(out + first, x, p.n);
    }
  });
}

void OneDnnBackend::share_backward_input(const ConvProblem& p, std::int64_t parts, float* grad_x,
                                         const float* grad_out, const float* weight) {
  for_channels(threads(), p.c, parts, [&](std::int64_t first, std::int64_t count) {
    ConvProblem some = p;
    some.c = count;
    some.all_c = p.c;
    if (has_few_tiles(p)) {
      const WinogradShape s = in_one_block(some);
      const Scratch<float> scratch(*this, FewTiles::count(s, s.o, s.c));
      kernels_.winograd_backward_input_few(grad_x + first, grad_out, weight + first, s, p.n, scratch.data());
    } else {
      const ImagePass pass(*this, kernels_, ConvKernels::winograd, some, weight + first, nullptr);
      const ImagePass::Runner run(pass);
      run(grad_x + first, grad_out, p.n);
    }
  });
}

void OneDnnBackend::share_backward_weight(const ConvProblem& p, std::int64_t parts, float* grad_weight,
                                          const float* grad_out, const float* x) {
  for_channels(threads(), p.o, parts, [&](std::int64_t first, std::int64_t count) {
    ConvProblem some = with_some_filters(p, count);
    some.has_bias = false;
    float* filters = grad_weight + first * 9 * p.c;
    if (has_few_tiles(p)) {
      const WinogradShape s = in_one_block(some);
      const Scratch<float> scratch(*this, FewGradientTiles::count(s));
      kernels_.winograd_backward_weight_few(filters, grad_out + first, x, s, p.n, scratch.data());
    } else {
      const WeightGradientPass pass(*this, kernels_, ConvKernels::winograd, some, 1);
      const WeightGradientPass::Runner run(pass, 0);
      run.add(grad_out + first, x, p.n);
      run.finish();
      pass.collect(filters, nullptr);
    }
  });
}

}  // namespace ronde::inline v0
