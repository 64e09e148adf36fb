// Note [Pixels]
// A convolution with 1x1 filters is a product of two matrices: the pixels, one a row, and the filters. In
// mixed precision, on processors that multiply bfloat16, all three passes are products of the tensors as they
// lie, where other convolutions are made of floats in a thread's cache. With a stride the pixels are picked
// first: Note [Picked pixels].
#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/picked_pixels.h"
#include "backend/onednn/products.h"

namespace ronde::inline v0 {

namespace {

std::int64_t used_pixels(const ConvProblem& p) {
  return p.n * p.oh * p.ow;
}

// Scratch for the used ones, if they do not lie as a matrix.
std::int64_t picked_elements(const ConvProblem& p) {
  return p.picks_pixels() ? used_pixels(p) * p.c : 0;
}

// The used pixels of x, in `picked` if they have to be brought together.
const std::uint16_t* used(ThreadPool& threads, const Tensor& x, const ConvProblem& p,
                          const Scratch<std::uint16_t>& picked) {
  if (!p.picks_pixels()) return bits_of(x);
  pick_pixels(threads, picked.data(), bits_of(x), p);
  return picked.data();
}

}  // namespace

bool OneDnnBackend::takes_pixels(const Shape& weight, const Conv2dParams& params) const {
  return kernels_.tiles && weight[1] == 1 && weight[2] == 1 && params.groups == 1 &&
         params.padding == Padding2d{} && std::min(weight[0], weight[3]) >= kTileColumns;
}

bool OneDnnBackend::pixel_conv2d(const Tensor& out, const Tensor& x, const Conv2dStage& conv) {
  if (!has_halves(x) || !has_halves(out) || !has_halves(conv.weight) ||
      !takes_pixels(conv.weight.shape(), conv.params))
    return false;
  const ConvProblem p = stage_problem(x.shape(), conv);
  const Scratch<std::uint16_t> picked(*this, picked_elements(p));
  const ReadRows bias(*this, kernels_, conv.bias, 1, 1);
  run_parallel(threads(), TileProduct{*this,
                                      *kernels_.tiles,
                                      used_pixels(p),
                                      p.o,
                                      p.c,
                                      {.transpose_b = true},
                                      tile_result(out, p.o),
                                      used(threads(), x, p, picked),
                                      bits_of(conv.weight),
                                      bias(0, 1),
                                      conv.epilogue});
  return true;
}

bool OneDnnBackend::pixel_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                         const Conv2dParams& params) {
  if (!has_halves(grad_x) || !has_halves(grad_out) || !has_halves(weight) ||
      !takes_pixels(weight.shape(), params))
    return false;
  const ConvProblem p =
      problem_of(ConvPass::backward_input, grad_x.shape(), weight.shape(), grad_out.shape(), params);
  const Scratch<std::uint16_t> picked(*this, picked_elements(p));
  const TileResult to = p.picks_pixels() ? TileResult{nullptr, picked.data(), p.c} : tile_result(grad_x, p.c);
  run_parallel(
      threads(),
      TileProduct{
          *this, *kernels_.tiles, used_pixels(p), p.c, p.o, {}, to, bits_of(grad_out), bits_of(weight)});
  if (p.picks_pixels()) spread_pixels(threads(), bits_of(grad_x), picked.data(), p);
  return true;
}

bool OneDnnBackend::pixel_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                          const Tensor& grad_out, const Tensor& x,
                                          const Conv2dParams& params) {
  if (!dense_values(grad_weight) || !dense_or_missing(grad_bias) || !has_halves(grad_out) || !has_halves(x) ||
      !takes_pixels(grad_weight.shape(), params))
    return false;
  const ConvProblem p =
      problem_of(ConvPass::backward_weight, x.shape(), grad_weight.shape(), grad_out.shape(), params);
  const Scratch<std::uint16_t> picked(*this, picked_elements(p));
  run_parallel(threads(), TileProduct{*this,
                                      *kernels_.tiles,
                                      p.o,
                                      p.c,
                                      used_pixels(p),
                                      {.transpose_a = true},
                                      tile_result(grad_weight, p.c),
                                      bits_of(grad_out),
                                      used(threads(), x, p, picked)});
  sum_pixels(grad_bias, grad_out);
  return true;
}

}  // namespace ronde::inline v0
