// Note [Patches of bf16]
// Convolutions with a stride, and those of few pixels beside their filters, are products of patches and
// filters (Note [Patches] in patch_conv2d.cpp) where both are bfloat16 and the processor multiplies that. All
// threads copy the patches of some images, then share their product; the gradient of the patches is added up
// in float. With AMX, ResNet-18's three layers with a stride take a third of the time that patches of floats
// took.
#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/patches.h"
#include "backend/onednn/products.h"

namespace ronde::inline v0 {

namespace {

// Images whose patches stay in the second level caches together; of the gradient of weights more, as sums are
// written for each time.
std::int64_t images_together(const ConvProblem& p, const Patches& patches) {
  constexpr std::int64_t kElements = std::int64_t{1} << 20;
  const std::int64_t sums = p.pass == ConvPass::backward_weight ? 4 * p.o * patches.depth() : 0;
  return std::clamp<std::int64_t>(std::max(kElements, sums) / (patches.rows(1) * patches.depth()), 1, p.n);
}

// Many for their pixels: bringing them, and sums for them, into layouts of their own takes longer than
// patches.
bool has_many_filters(const ConvProblem& p) {
  return p.n * p.oh * p.ow <= p.o && p.kh * p.kw * p.c * p.o > kMostDirectWeights;
}

// Patches of bfloat16, of some images at a time.
class HalfPatches {
 public:
  HalfPatches(Backend& backend, const ConvProblem& p)
      : threads_(backend.threads()),
        p_(p),
        patches_(p),
        images_(images_together(p, patches_)),
        copied_(backend, patches_.rows(images_) * patches_.depth()) {}

  /// Calls f(first image, rows, patches).
  template <class F>
  void for_each_piece(const Tensor& x, const F& f) const {
    in_pieces(0, p_.n, images_, [&](std::int64_t first, std::int64_t images) {
      const std::uint16_t* from = bits_of(x) + first * in_elements(p_);
      threads_.parallel_for(patches_.rows(images), kRows, [&](std::int64_t begin, std::int64_t end) {
        patches_.gather(copied_.data(), from, begin, end);
      });
      f(first, patches_.rows(images), copied_.data());
    });
  }
  std::int64_t depth() const { return patches_.depth(); }

 private:
  static constexpr std::int64_t kRows = 16;  // that pay for one more thread

  ThreadPool& threads_;
  const ConvProblem& p_;
  Patches patches_;
  std::int64_t images_;
  Scratch<std::uint16_t> copied_;
};

}  // namespace

bool OneDnnBackend::takes_half_patches(const ConvProblem& p) const {
  return kernels_.tiles && kernels_.tiles->conv && p.params.dilation == Size2d{} && p.params.groups == 1 &&
         p.o >= kTileColumns && p.kh * p.kw * p.c >= kTileDepth && (!is_plain(p) || has_many_filters(p));
}

bool OneDnnBackend::half_patch_conv2d(const Tensor& out, const Tensor& x, const Conv2dStage& conv) {
  if (!has_halves(out) || !has_halves(x) || !has_halves(conv.weight)) return false;
  const ConvProblem p = stage_problem(x.shape(), conv);
  if (!takes_half_patches(p)) return false;
  const HalfPatches patches(*this, p);
  const ReadRows bias(*this, kernels_, conv.bias, 1, 1);
  patches.for_each_piece(x, [&](std::int64_t first, std::int64_t rows, const std::uint16_t* copied) {
    run_parallel(threads(), TileProduct{*this,
                                        *kernels_.tiles,
                                        rows,
                                        p.o,
                                        patches.depth(),
                                        {.transpose_b = true},
                                        {nullptr, bits_of(out) + first * out_elements(p), p.o},
                                        copied,
                                        bits_of(conv.weight),
                                        bias(0, 1),
                                        conv.epilogue});
  });
  return true;
}

bool OneDnnBackend::half_patch_backward_input(const Tensor& grad_x, const Tensor& grad_out,
                                              const Tensor& weight, const Conv2dParams& params) {
  if (!has_halves(grad_x) || !has_halves(grad_out) || !has_halves(weight)) return false;
  const ConvProblem p =
      problem_of(ConvPass::backward_input, grad_x.shape(), weight.shape(), grad_out.shape(), params);
  if (!takes_half_patches(p)) return false;
  const Patches patches(p);
  const std::int64_t depth = patches.depth(), of_image = patches.rows(1) * depth,
                     step = images_together(p, patches);
  const Scratch<float> gradients(*this, step * of_image);
  in_pieces(0, p.n, step, [&](std::int64_t first, std::int64_t images) {
    run_parallel(threads(), TileProduct{*this,
                                        *kernels_.tiles,
                                        patches.rows(images),
                                        depth,
                                        p.o,
                                        {},
                                        {gradients.data(), nullptr, depth},
                                        bits_of(grad_out) + first * out_elements(p),
                                        bits_of(weight)});
    threads().parallel_for(images, 1, [&](std::int64_t begin, std::int64_t end) {
      const WrittenRows to(*this, kernels_, grad_x, p.n, 1);
      for (std::int64_t i = begin; i < end; ++i) {
        patches.scatter(kernels_, to.room(first + i), gradients.data() + i * of_image, 1, {0, p.c});
        to.keep(first + i, 1);
      }
    });
  });
  return true;
}

bool OneDnnBackend::half_patch_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                               const Tensor& grad_out, const Tensor& x,
                                               const Conv2dParams& params) {
  if (!dense_values(grad_weight) || !dense_or_missing(grad_bias) || !has_halves(grad_out) || !has_halves(x))
    return false;
  const ConvProblem p =
      problem_of(ConvPass::backward_weight, x.shape(), grad_weight.shape(), grad_out.shape(), params);
  if (!takes_half_patches(p)) return false;
  const HalfPatches patches(*this, p);
  const auto sum = [&](const Tensor& to) {
    const Scratch<float> room(*this, to.count());
    patches.for_each_piece(x, [&](std::int64_t first, std::int64_t rows, const std::uint16_t* copied) {
      float* sums = first == 0 ? to.data<float>() : room.data();
      run_parallel(threads(), TileProduct{*this,
                                          *kernels_.tiles,
                                          p.o,
                                          patches.depth(),
                                          rows,
                                          {.transpose_a = true},
                                          {sums, nullptr, patches.depth()},
                                          bits_of(grad_out) + first * out_elements(p),
                                          copied});
      if (first == 0) return;
      threads().parallel_for(p.o, 1, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t from = begin * patches.depth();
        kernels_.accumulate(to.data<float>() + from, sums + from, 1.0f, (end - begin) * patches.depth());
      });
    });
  };
  with_floats(sum, written(grad_weight));
  sum_pixels(grad_bias, grad_out);
  return true;
}

}  // namespace ronde::inline v0
