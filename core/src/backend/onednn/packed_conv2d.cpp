// Note [Packed weights]
// Each thread works through its chunk of the batch with oneDNN a few images at a time, so that what a call
// reads and writes stays in its cache; of fewer images than threads, each takes bands of an image. oneDNN picks
// the layout of the weights for the first of these pieces. They are packed once per call, and the other pieces
// (what is left of a chunk, bands between others) have to do with that layout: where oneDNN has nothing fast
// for one of them, the batch is cut in another way, at last into images, which are all alike.
#include <algorithm>
#include <vector>

#include <ronde/core/whole_numbers.h>

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

namespace {

// Images per call: enough that going through the weights once more costs little, few enough for the cache.
std::int64_t images_per_call(const ConvProblem& p) {
  constexpr std::int64_t kLeast = 32768;  // elements
  const std::int64_t weights = p.o * p.kh * p.kw * p.c / p.params.groups;
  const std::int64_t image = in_elements(p) + out_elements(p);
  const std::int64_t wanted = std::max(4 * weights, kLeast);
  std::int64_t images = 1;
  while (images * image < wanted && images < p.n) images *= 2;
  return images;
}

ConvProblem of_images(const ConvProblem& whole, std::int64_t images) {
  ConvProblem p = whole;
  p.n = images;
  return p;
}

// Calls of so many images, or of the bands that an image is cut into.
struct PackedCut {
  std::int64_t images = 1, bands = 1;
  ConvProblem first = {};  // of the pieces
};

// The different pieces, of which the first decides on the weights' layout.
std::vector<ConvProblem> pieces_of(const ThreadPool& threads, const ConvProblem& whole,
                                   const PackedCut& cut) {
  std::vector<ConvProblem> pieces;
  if (cut.bands > 1) {
    for (std::int64_t i = 0; i < cut.bands; ++i) pieces.push_back(ImageBand(whole, {i, cut.bands}).problem);
    return pieces;
  }
  pieces.push_back(of_images(whole, cut.images));
  const int chunks = threads.chunks(whole.n, 1);  // of two lengths, if any
  for (const std::int64_t length : {whole.n / chunks, ceil_divide<std::int64_t>(whole.n, chunks)})
    if (length % cut.images != 0) pieces.push_back(of_images(whole, length % cut.images));
  return pieces;
}

// How the batch is cut.
PackedCut cut_for(const ThreadPool& threads, ConvCache& cache, const ConvProblem& whole) {
  const std::int64_t bands = whole.pass == ConvPass::forward ? bands_of_image(threads, whole) : 1;
  for (PackedCut cut : {PackedCut{.bands = bands}, PackedCut{.images = images_per_call(whole)}}) {
    if (cut.images == 1 && cut.bands == 1) continue;
    const std::vector<ConvProblem> pieces = pieces_of(threads, whole, cut);
    cut.first = pieces.front();
    const auto first = cache.take(cut.first);
    const auto fits = [&](const ConvProblem& piece) { return cache.take(piece, &first)->is_fast(); };
    if (first->is_fast() && std::all_of(pieces.begin() + 1, pieces.end(), fits)) return cut;
  }
  return {.first = of_images(whole, 1)};
}

}  // namespace

bool OneDnnBackend::packed_conv2d(const ConvProblem& whole, float* out, float* x, const float* weight,
                                  const float* bias) {
  const PackedCut cut = cut_for(threads(), conv_cache_, whole);
  const auto first = conv_cache_.take(cut.first);
  if (!first->is_fast()) return false;
  const Scratch<float> packed(*this, first->packed_count());
  first->pack(packed.data(), weight);
  const auto run = [&](const ConvProblem& here, float* to, float* from) {
    conv_cache_.take(here, &first)->run(from, packed.data(), const_cast<float*>(bias), to);
    if (whole.relu) kernels_.unary(UnaryOp::relu, to, to, here.n * out_elements(here), 0.0f, 0.0f);
  };
  threads().parallel_for(whole.n * cut.bands, 1, [&](std::int64_t begin, std::int64_t end) {
    if (cut.bands == 1) {
      for (std::int64_t i = begin; i < end; i += cut.images)
        run(of_images(whole, std::min(cut.images, end - i)), out + i * out_elements(whole),
            x + i * in_elements(whole));
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const ImageBand band(whole, {i % cut.bands, cut.bands});
      run(band.problem, out + i / cut.bands * out_elements(whole) + band.out,
          x + i / cut.bands * in_elements(whole) + band.in);
    }
  });
  return true;
}

bool OneDnnBackend::packed_backward_weight(const ConvProblem& whole, float* grad_weight, float* grad_bias,
                                           float* grad_out, float* x) {
  const PackedCut cut = cut_for(threads(), conv_cache_, whole);
  const auto first = conv_cache_.take(cut.first);
  if (!first->is_fast()) return false;
  // Per thread: the sum so far and what the next call adds, each weight then bias.
  const std::int64_t weights = first->packed_count(), both = round_up<std::int64_t>(weights + whole.o, 16);
  const int chunks = threads().chunks(whole.n, 1);
  const Scratch<float> sums(*this, 2 * both * chunks);
  threads().parallel_chunks(whole.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    float *sum = sums.data() + 2 * both * chunk, *next = sum + both;
    for (std::int64_t i = begin; i < end; i += cut.images) {
      float* to = i == begin ? sum : next;
      conv_cache_.take(of_images(whole, std::min(cut.images, end - i)), &first)
          ->run(x + i * in_elements(whole), to, to + weights, grad_out + i * out_elements(whole));
      if (to == next) kernels_.accumulate(sum, next, 1.0f, weights + (grad_bias ? whole.o : 0));
    }
  });
  for (int chunk = 1; chunk < chunks; ++chunk)
    kernels_.accumulate(sums.data(), sums.data() + 2 * both * chunk, 1.0f,
                        weights + (grad_bias ? whole.o : 0));
  first->unpack(grad_weight, sums.data());
  if (grad_bias) std::copy_n(sums.data() + weights, whole.o, grad_bias);
  return true;
}

}  // namespace ronde::inline v0
