// Note [Patches]
// A convolution is a product of two matrices: the patches of x that its windows cover, one a row, and the
// filters. That is how two kinds of layers are made. Of many weights and with a stride, the direct kernels
// would go through all of them for each block of pixels: each thread copies the patches of some images and
// multiplies them; the gradient of x is added up from that of the patches. ResNet-18's three such layers take
// a fifth of its step's cycles this way, and the step 7 % fewer than with oneDNN 2.6 and the direct kernels.
// Where filters are 1x1, the patches are the pixels as they lie, and nothing has to bring the weights into a
// layout of its own first: from one to four images of 7x7 that took as long as multiplying. The gradient of a
// picture is made so, too.
#include <algorithm>

#include <ronde/core/thread_pool.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/patches.h"
#include "backend/onednn/products.h"

namespace ronde::inline v0 {

namespace {

// The gradient of weights, of so few pixels that other ways take longer to write sums to memory and to add
// those up than to multiply.
bool sums_few_pixels(const ConvProblem& p) {
  return p.pass == ConvPass::backward_weight && p.n * p.oh * p.ow <= 256;
}

// Whether pixels are multiplied faster than the direct kernels, whose blocks are pixels of one row, go by.
// Measured: from 64 channels on both sides on, forward 0.95 to 1.25 of their speed and the gradients 1.1 to
// 1.35; of rows of 6 pixels, 1.2 to 1.7 with any channels; of long rows and 16 to 40 channels 0.6 to 1.0, but
// 1.1 to 1.4 for weights of few filters, whose gradient has columns of channels here and of filters there.
bool pays_as_pixels(const ConvProblem& p) {
  constexpr std::int64_t kLeastChannels = 64, kLeastRow = 12;
  if (!is_pixel_by_pixel(p)) return false;
  const bool has_few_filters = p.pass == ConvPass::backward_weight && p.c >= kLeastChannels && p.c >= 2 * p.o;
  return has_few_filters || std::min(p.c, p.o) >= kLeastChannels || p.ow < kLeastRow;
}

// The gradient of a picture, as a transposed convolution that ends a generator or an autoencoder makes it:
// other ways fill a vector of channels with these few.
bool makes_picture(const ConvProblem& p) {
  constexpr std::int64_t kMostChannels = 4, kLeastFilters = 32;
  return p.pass == ConvPass::backward_input && !is_plain(p) && p.c <= kMostChannels && p.o >= kLeastFilters;
}

// Decided by one image, so that its results do not depend on its batch.
bool pays_in_tiles(const Kernels& kernels, const ConvProblem& p) {
  const Patches patches(p);
  const std::int64_t rows = patches.rows(1), depth = patches.depth();
  if (p.pass == ConvPass::forward) return pays_in_tiles(kernels, rows, p.o, depth);
  if (p.pass == ConvPass::backward_input) return pays_in_tiles(kernels, rows, depth, p.o);
  return pays_in_tiles(kernels, p.o, depth, patches.rows(p.n));
}

// The patches of a whole batch.
class AllPatches {
 public:
  AllPatches(Backend& backend, const Patches& patches, const ConvProblem& p)
      : rows_(patches.rows(p.n)),
        are_pixels_(patches.are_pixels()),
        copied_(backend, are_pixels_ ? 0 : rows_ * patches.pitch()) {}

  // Of x, until the next call.
  const float* of(ThreadPool& threads, const Patches& patches, const float* x) const {
    if (are_pixels_) return x;
    threads.parallel_for(rows_, 1, [&](std::int64_t begin, std::int64_t end) {
      patches.gather(copied_.data(), x, begin, end);
    });
    return copied_.data();
  }

  // Where the gradient of the patches goes, for `add_up` to make that of x.
  float* gradient(float* grad_x) const { return are_pixels_ ? grad_x : copied_.data(); }
  void add_up(ThreadPool& threads, const Kernels& kernels, const Patches& patches, float* grad_x,
              const ConvProblem& p) const {
    if (are_pixels_) return;
    if (p.c < kernels.lanes) return patches.scatter(kernels, grad_x, copied_.data(), p.n, {0, p.c});
    threads.parallel_for(p.c / kernels.lanes, 1, [&](std::int64_t begin, std::int64_t end) {
      patches.scatter(kernels, grad_x, copied_.data(), p.n, {begin * kernels.lanes, end * kernels.lanes});
    });
  }

 private:
  std::int64_t rows_;
  bool are_pixels_;
  Scratch<float> copied_;
};

// Filters that are as long as the rows of patches are apart.
class WideFilters {
 public:
  WideFilters(Backend& backend, const Patches& patches, const ConvProblem& p, const float* weight)
      : wide_(backend, patches.pitch() == patches.depth() ? 0 : p.o * patches.pitch()),
        data_(patches.pitch() == patches.depth() ? weight : wide_.data()) {
    if (data_ == weight) return;
    std::fill_n(wide_.data(), p.o * patches.pitch(), 0.0f);
    for (std::int64_t i = 0; i < p.o; ++i)
      std::copy_n(weight + i * patches.depth(), patches.depth(), wide_.data() + i * patches.pitch());
  }
  const float* data() const { return data_; }

 private:
  Scratch<float> wide_;
  const float* data_;
};

// Whether all patches are multiplied together, not those of some images at a time.
bool multiplies_all_patches(const ThreadPool& threads, const ConvProblem& p) {
  return is_pixel_by_pixel(p) || sums_few_pixels(p) || has_few_images(threads, p);
}

// Calls f(chunk, first image, images, memory for patches) for some images at a time, each chunk on one
// thread.
template <class F>
void for_patches(Backend& backend, const ConvProblem& p, const Patches& patches, const F& f) {
  const std::int64_t step = patches.images_at_once();
  backend.threads().parallel_chunks(p.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    const Scratch<float> copied(backend, patches.rows(step) * patches.pitch());
    for (std::int64_t i = begin; i < end; i += step) f(chunk, i, std::min(step, end - i), copied.data());
  });
}

// Each thread adds up the gradients of some images, and all of them these sums.
void add_patch_gradients(Backend& backend, const Kernels& kernels, const ConvProblem& p, float* grad_weight,
                         const float* grad_out, const float* x) {
  const Patches patches(p);
  const std::int64_t depth = patches.depth(), weights = p.o * depth;
  const int chunks = backend.threads().chunks(p.n, 1);
  const bool by_tiles = pays_in_tiles(kernels, p);
  const Zeros<float> sums(backend, weights * chunks);
  for_patches(backend, p, patches, [&](int chunk, std::int64_t first, std::int64_t images, float* copied) {
    const Scratch<float> next(backend, weights);
    patches.gather(copied, x + first * in_elements(p), 0, patches.rows(images));
    multiply(backend, kernels, by_tiles, next.data(), grad_out + first * out_elements(p), copied,
             {p.o, depth, patches.rows(images), depth, p.o, depth, true, false});
    kernels.accumulate(sums.data() + weights * chunk, next.data(), 1.0f, weights);
  });
  backend.threads().parallel_for(p.o, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t from = begin * depth, count = (end - begin) * depth;
    std::copy_n(sums.data() + from, count, grad_weight + from);
    for (int chunk = 1; chunk < chunks; ++chunk)
      kernels.accumulate(grad_weight + from, sums.data() + weights * chunk + from, 1.0f, count);
  });
}

}  // namespace

bool OneDnnBackend::takes_patches(const ConvProblem& p) const {
  if (p.params.groups != 1 || !(p.params.dilation == Size2d{})) return false;
  if (makes_picture(p)) return true;
  if (pays_as_pixels(p)) return true;
  if (p.o % kernels_.lanes != 0 || p.c % kernels_.lanes != 0) return false;
  if (is_pixel_by_pixel(p) && p.pass != ConvPass::forward && has_few_images(threads(), p)) return true;
  return p.kh * p.kw * p.c * p.o > kMostDirectWeights &&
         (!is_plain(p) || is_pixel_by_pixel(p) || sums_few_pixels(p));
}

void OneDnnBackend::patch_conv2d(const ConvProblem& p, float* out, const float* x, const float* weight,
                                 const float* bias, const NormMap* norm) {
  const Patches patches(p);
  const std::int64_t depth = patches.depth();
  const Epilogue epilogue = p.relu ? Epilogue::relu : Epilogue::none;
  const bool by_tiles = pays_in_tiles(kernels_, p);
  if (multiplies_all_patches(threads(), p)) {
    const AllPatches all(*this, patches, p);
    const FloatProduct product{*this,
                               kernels_,
                               patches.rows(p.n),
                               p.o,
                               depth,
                               {.transpose_b = true},
                               out,
                               all.of(threads(), patches, x),
                               weight,
                               by_tiles};
    return run_parallel(threads(), FinishedProduct{product, bias, epilogue, norm});
  }
  for_patches(*this, p, patches, [&](int, std::int64_t first, std::int64_t images, float* copied) {
    const std::int64_t rows = patches.rows(images);
    float* y = out + first * out_elements(p);
    patches.gather(copied, x + first * in_elements(p), 0, rows);
    multiply(*this, kernels_, by_tiles, y, copied, weight,
             {rows, p.o, depth, p.o, depth, depth, false, true});
    if (bias || p.relu) kernels_.bias_epilogue(y, bias, rows, p.o, p.o, epilogue);
    if (norm) (*norm)(y, y, rows);
  });
}

void OneDnnBackend::patch_backward_input(const ConvProblem& p, float* grad_x, const float* grad_out,
                                         const float* weight) {
  const Patches patches(p, is_pixel_by_pixel(p) ? 1 : kernels_.lanes);
  const std::int64_t pitch = patches.pitch();
  const WideFilters filters(*this, patches, p, weight);
  const bool by_tiles = pays_in_tiles(kernels_, p);
  if (multiplies_all_patches(threads(), p)) {
    const AllPatches all(*this, patches, p);
    run_parallel(threads(), FloatProduct{*this,
                                         kernels_,
                                         patches.rows(p.n),
                                         pitch,
                                         p.o,
                                         {},
                                         all.gradient(grad_x),
                                         grad_out,
                                         filters.data(),
                                         by_tiles});
    return all.add_up(threads(), kernels_, patches, grad_x, p);
  }
  for_patches(*this, p, patches, [&](int, std::int64_t first, std::int64_t images, float* grad_patches) {
    multiply(*this, kernels_, by_tiles, grad_patches, grad_out + first * out_elements(p), filters.data(),
             {patches.rows(images), pitch, p.o, pitch, p.o, pitch, false, false});
    patches.scatter(kernels_, grad_x + first * in_elements(p), grad_patches, images, {0, p.c});
  });
}

void OneDnnBackend::patch_backward_weight(const ConvProblem& p, float* grad_weight, const float* grad_out,
                                          const float* x) {
  const Patches patches(p);
  if (multiplies_all_patches(threads(), p)) {
    const AllPatches all(*this, patches, p);
    run_parallel(threads(), FloatProduct{*this,
                                         kernels_,
                                         p.o,
                                         patches.depth(),
                                         patches.rows(p.n),
                                         {.transpose_a = true},
                                         grad_weight,
                                         grad_out,
                                         all.of(threads(), patches, x),
                                         pays_in_tiles(kernels_, p)});
  } else {
    add_patch_gradients(*this, kernels_, p, grad_weight, grad_out, x);
  }
}

}  // namespace ronde::inline v0
