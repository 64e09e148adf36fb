// Layers whose convolution is made of tiles: Note [Tiles] in tile_conv2d.cpp.
#include <algorithm>
#include <utility>

#include "backend/onednn/backend.h"
#include "backend/onednn/dropout_mask.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/pool_shape.h"
#include "backend/onednn/tile_passes.h"

namespace ronde::inline v0 {

namespace {

std::optional<TileFront> front_of(Backend& backend, const Kernels& kernels,
                                  const std::optional<ConvKernels>& algorithm, const ConvProblem& problem,
                                  const std::optional<Conv2dStage>& front) {
  if (!algorithm) return std::nullopt;
  return std::optional<TileFront>(std::in_place, backend, kernels, *algorithm, problem,
                                  front->weight.data<float>(), floats_or_null(front->bias));
}

// Images of a convolution's result, or what is pooled of them, in the order of their channels.
std::uint8_t* argmax_of(const Tensor& argmax, std::int64_t image, std::int64_t elements) {
  return argmax.defined() ? argmax.data<std::uint8_t>() + image * elements : nullptr;
}

// What one thread does for a layer forward.
class TileForward {
 public:
  // `front` and `norm` may be null.
  TileForward(Backend& backend, const Kernels& kernels, const Conv2dLayer& layer, const ConvProblem& p,
              const TileFront* front, const TileConv& conv, const NormMap* norm)
      : kernels_(kernels),
        layer_(layer),
        norm_(norm),
        pixels_(p.oh * p.ow),
        pool_(pool_shape(out_shape(p), layer.out.shape(), layer.pool)),
        mask_(layer.sample_keys.defined() ? DropoutMask::make(layer.dropout) : std::nullopt),
        conv_(conv),
        x_(backend, kernels, layer.x, p.n, front, conv.shape()),
        places_(backend, conv.shape(), conv.shape().dense_result()),
        whole_(backend, layer.argmax.defined() ? out_elements(p) : 0),
        out_(backend, kernels, layer.out, p.n, 1) {}

  void operator()(std::int64_t image) const {
    const std::uint16_t* frame = x_(image);
    if (is_bfloat16(layer_.out) && !layer_.argmax.defined() && !mask_ && !norm_)
      return conv_({nullptr, bits_of(layer_.out) + image * out_.elements(), places_.data()}, frame);
    float* out = out_.room(image);
    conv_({layer_.argmax.defined() ? whole_.data() : out, nullptr, places_.data()}, frame);
    if (layer_.argmax.defined())
      kernels_.max_pool(out, argmax_of(layer_.argmax, image, out_.elements()), whole_.data(), pool_);
    if (mask_)
      mask_->apply(kernels_, out, out, out_.elements(), layer_.sample_keys.data<std::int64_t>() + 2 * image);
    if (norm_) (*norm_)(out, out, pixels_);
    out_.keep(image, 1);
  }

 private:
  const Kernels& kernels_;
  const Conv2dLayer& layer_;
  const NormMap* norm_;
  std::int64_t pixels_;
  PoolShape pool_;
  std::optional<DropoutMask> mask_;
  const TileConv& conv_;
  FramedImages x_;
  PlaceTable places_;
  Scratch<float> whole_;
  WrittenRows out_;
};

// The gradient of the convolution's result, made of that of the layer's, in the frame of the gradient of its
// input.
class FramedGradients {
 public:
  FramedGradients(Backend& backend, const Kernels& kernels, const Conv2dLayerBackward& layer,
                  const ConvProblem& p, const TileConvShape& shape)
      : tiles_(*kernels.tiles),
        argmax_(layer.conv.argmax),
        scale_(static_cast<float>(layer.dropout_scale)),
        elements_(layer.conv.grad_out.count() / p.n),
        pool_(pool_shape(out_shape(p), layer.conv.grad_out.shape(), layer.conv.pool)),
        places_(shape.in_frame()),
        grad_(backend, kernels, layer.conv.grad_out, p.n),
        y_(backend, kernels, layer.conv.out, p.n),
        frame_(backend, shape) {}

  /// Of an image; until the next call. Adds it up in bias_sums, which may be null.
  const std::uint16_t* operator()(std::int64_t image, float* bias_sums) const {
    const TileGradient gradient{grad_(image), y_(image), argmax_of(argmax_, image, elements_), scale_};
    if (gradient.argmax)
      tiles_.frame_pooled_gradient(frame_.data(), bias_sums, gradient, pool_, places_);
    else
      tiles_.frame_gradient(frame_.data(), bias_sums, gradient, {pool_.h, pool_.w, pool_.c}, places_);
    return frame_.data();
  }

 private:
  const TileKernels& tiles_;
  const Tensor& argmax_;
  float scale_;
  std::int64_t elements_;
  PoolShape pool_;
  PixelPlaces places_;
  HalfImages grad_, y_;
  TileFrame frame_;
};

}  // namespace

// The passes of a backward pass by tiles, prepared for all threads.
struct OneDnnBackend::TileBackwardPasses {
  std::optional<TileFront> front;
  std::optional<TileConv> input;
  std::optional<WeightGradientPass> weight, front_weight;

  TileBackwardPasses(OneDnnBackend& backend, const Conv2dLayerBackward& layer, const OwnBackward& plan,
                     int chunks)
      : front(front_of(backend, backend.kernels_, plan.front, plan.front_problem, layer.front)) {
    const Kernels& kernels = backend.kernels_;
    if (plan.input)
      input.emplace(backend, kernels, input_problem(plan.problem), layer.conv.weight.data<float>(), nullptr);
    if (plan.weight) weight.emplace(backend, kernels, *plan.weight, plan.problem, chunks);
    if (!layer.grad_front_weight.defined()) return;
    ConvProblem p = plan.front_problem;
    p.pass = ConvPass::backward_weight;
    p.has_bias = layer.grad_front_bias.defined();
    front_weight.emplace(backend, kernels, *plan.front_weight, p, chunks);
  }
};

// What one thread does for one chunk of the images.
class OneDnnBackend::TileBackward {
 public:
  TileBackward(OneDnnBackend& backend, const Conv2dLayerBackward& layer, const OwnBackward& plan,
               const TileBackwardPasses& passes, int chunk)
      : kernels_(backend.kernels_),
        p_(plan.problem),
        of_x_(tile_shape(p_)),
        of_gradient_(tile_shape(input_problem(p_))),
        has_relu_in_front_(plan.front_problem.relu),
        passes_(passes),
        gradient_(backend, backend.kernels_, layer, p_, of_gradient_),
        gradient_places_(backend, of_x_, of_gradient_.in_frame(), of_gradient_.zero_pixel()),
        grad_x_(backend, backend.kernels_, layer.conv.grad_x, p_.n, 1),
        grad_x_halves_(is_bfloat16(layer.conv.grad_x) ? bits_of(layer.conv.grad_x) : nullptr),
        grad_x_places_(backend, of_gradient_, of_gradient_.dense_result()) {
    if (layer.conv.x.defined())
      x_.emplace(backend, backend.kernels_, layer.conv.x, p_.n, passes.front ? &*passes.front : nullptr, of_x_);
    if (passes.weight) weight_.emplace(*passes.weight, chunk);
    if (passes.front_weight) front_.emplace(backend, layer.conv.x, plan, passes, of_gradient_, chunk);
  }

  void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) run(i);
    if (weight_) weight_->finish();
    if (front_) front_->weight.finish();
  }

 private:
  void run(std::int64_t image) const {
    const std::uint16_t* gradient = gradient_(image, weight_ ? weight_->bias_sum() : nullptr);
    const std::uint16_t* x = weight_ || front_ ? (*x_)(image) : nullptr;
    if (weight_) weight_->add({x, gradient, gradient_places_.data()});
    if (front_)
      run(*front_, image, gradient, x);
    else if (passes_.input)
      (*passes_.input)(grad_x(image), gradient);
  }

  TileConvResult grad_x(std::int64_t image) const {
    if (grad_x_halves_) return {nullptr, grad_x_halves_ + image * in_elements(p_), grad_x_places_.data()};
    return {grad_x_.room(image), nullptr, grad_x_places_.data()};
  }

  // The gradient of the front's result, as bfloat16 with a pixel of zeros behind it or as floats, and where
  // its pixels are there and in the result's frame.
  struct Front {
    bool is_tiled;
    ReadRows x;
    Scratch<float> floats;
    Scratch<std::uint16_t> halves;
    PlaceTable passing, places;
    WeightGradientPass::Runner weight;

    Front(OneDnnBackend& backend, const Tensor& images, const OwnBackward& plan,
          const TileBackwardPasses& passes, const TileConvShape& of_gradient, int chunk)
        : is_tiled(plan.front_weight == ConvKernels::tiles),
          x(backend, backend.kernels_, images, plan.problem.n, 1),
          floats(backend, is_tiled ? 0 : in_elements(plan.problem)),
          halves(backend, is_tiled ? in_elements(plan.problem) + zero_pixel(plan.problem) : 0),
          passing(backend, of_gradient, tile_shape(plan.problem).in_frame()),
          places(backend, tile_shape(plan.front_problem), of_gradient.dense_result(),
                 in_elements(plan.problem)),
          weight(*passes.front_weight, chunk) {
      if (is_tiled)
        std::fill_n(halves.data() + in_elements(plan.problem), zero_pixel(plan.problem), std::uint16_t{0});
    }
    static std::int64_t zero_pixel(const ConvProblem& p) { return tiles_for(p.c, kTileRows) * kTileRows; }
  };

  // It passes where the front's relu did, of which `x` is the result.
  void run(const Front& front, std::int64_t image, const std::uint16_t* gradient,
           const std::uint16_t* x) const {
    TileConvResult to{front.floats.data(), front.halves.data(), grad_x_places_.data()};
    if (has_relu_in_front_) {
      to.passing = x;
      to.passing_places = front.passing.data();
    }
    (*passes_.input)(to, gradient);
    if (!front.is_tiled) return front.weight.add(front.floats.data(), front.x(image, 1), 1);
    if (float* sums = front.weight.bias_sum())
      kernels_.tiles->frame_gradient(to.halves, sums, {to.halves, nullptr, nullptr, 1}, {p_.h, p_.w, p_.c},
                                     of_gradient_.dense_result());
    front.weight.add({x_->front_frame(), to.halves, front.places.data()});
  }

  const Kernels& kernels_;
  const ConvProblem& p_;
  TileConvShape of_x_, of_gradient_;
  bool has_relu_in_front_;
  const TileBackwardPasses& passes_;
  FramedGradients gradient_;
  PlaceTable gradient_places_;
  WrittenRows grad_x_;
  std::uint16_t* grad_x_halves_;
  PlaceTable grad_x_places_;
  std::optional<FramedImages> x_;
  std::optional<WeightGradientPass::Runner> weight_;
  std::optional<Front> front_;
};

void OneDnnBackend::run_tiles(const Conv2dLayer& layer, const OwnForward& plan, const NormMap* norm) {
  const TileConv conv(*this, kernels_, plan.problem, layer.conv.weight.data<float>(),
                      floats_or_null(layer.conv.bias));
  const std::optional<TileFront> front =
      front_of(*this, kernels_, plan.front, plan.front_problem, layer.front);
  threads().parallel_for(plan.problem.n, 1, [&](std::int64_t begin, std::int64_t end) {
    const TileForward run(*this, kernels_, layer, plan.problem, front ? &*front : nullptr, conv, norm);
    for (std::int64_t i = begin; i < end; ++i) run(i);
  });
}

void OneDnnBackend::run_tiles_backward(const Conv2dLayerBackward& layer, const OwnBackward& plan) {
  const std::int64_t n = plan.problem.n;
  const TileBackwardPasses passes(*this, layer, plan, threads().chunks(n, 1));
  threads().parallel_chunks(n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    TileBackward(*this, layer, plan, passes, chunk)(begin, end);
  });
  if (passes.weight) passes.weight->collect(layer.conv.grad_weight.data<float>(), floats_or_null(layer.conv.grad_bias));
  if (passes.front_weight)
    passes.front_weight->collect(layer.grad_front_weight.data<float>(), floats_or_null(layer.grad_front_bias));
}

}  // namespace ronde::inline v0
