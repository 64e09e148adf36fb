// All gradients of layers whose convolution is made of tiles: Note [Tiles] in tile_conv2d.cpp.
#include <algorithm>

#include <ronde/core/whole_numbers.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/pool_shape.h"
#include "backend/onednn/tile_passes.h"

namespace ronde::inline v0 {

namespace {

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

  /// Of some images; until the next call. Adds it up in bias_sums, which may be null.
  const std::uint16_t* operator()(std::int64_t first, std::int64_t images, float* bias_sums) const {
    for (std::int64_t i = 0; i < images; ++i)
      make(frame_.data() + i * places_.image_pitch, first + i, bias_sums);
    return frame_.data();
  }

 private:
  void make(std::uint16_t* frame, std::int64_t image, float* bias_sums) const {
    const TileGradient gradient{grad_(image), y_(image), argmax_of(argmax_, image, elements_), scale_};
    if (gradient.argmax)
      tiles_.frame_pooled_gradient(frame, bias_sums, gradient, pool_, places_);
    else
      tiles_.frame_gradient(frame, bias_sums, gradient, {pool_.h, pool_.w, pool_.c}, places_);
  }

  const TileKernels& tiles_;
  const Tensor& argmax_;
  float scale_;
  std::int64_t elements_;
  PoolShape pool_;
  PixelPlaces places_;
  HalfImages grad_, y_;
  TileFrame frame_;
};

// Of the weight of a front, prepared for all threads: by tiles or not.
struct FrontWeightPass {
  std::optional<TileWeightGradient> tiles;
  std::optional<WeightGradientPass> floats;
  PlaceTable places;  // of its pixels in the gradient of its result

  FrontWeightPass(Backend& backend, const Kernels& kernels, ConvKernels algorithm, const ConvProblem& p,
                  const TileConvShape& of_gradient, int chunks)
      : places(backend, tile_shape(p).with_images(of_gradient.images), of_gradient.dense_result(),
               zero_pixel(p, of_gradient.images)) {
    if (algorithm == ConvKernels::tiles)
      tiles.emplace(backend, kernels, p, of_gradient.images, chunks);
    else
      floats.emplace(backend, kernels, algorithm, p, chunks);
  }
  // Behind the gradients of all images.
  static std::int64_t zero_pixel(const ConvProblem& p, std::int64_t images) {
    return images * out_elements(p);
  }

  void collect(float* grad_weight, float* grad_bias) const {
    tiles ? tiles->collect(grad_weight, grad_bias) : floats->collect(grad_weight, grad_bias);
  }
};

// The gradient of a front's result, and what becomes of it: bfloat16 with a pixel of zeros behind, or floats.
class FrontGradients {
 public:
  FrontGradients(Backend& backend, const Kernels& kernels, const Tensor& x, const ConvProblem& front,
                 const TileConvShape& of_gradient, const FrontWeightPass& pass, int chunk)
      : kernels_(kernels),
        pass_(pass),
        result_{front.oh, front.ow, front.o},
        places_(of_gradient.dense_result()),
        zero_(FrontWeightPass::zero_pixel(front, of_gradient.images)),
        x_(backend, kernels, x, front.n, 1),
        floats_(backend, pass.floats ? zero_ : 0),
        halves_(backend, pass.tiles ? zero_ + zero_elements() : 0) {
    if (pass.floats) float_weight_.emplace(*pass.floats, chunk);
    if (!pass.tiles) return;
    tile_weight_.emplace(*pass.tiles, chunk);
    std::fill_n(halves_.data() + zero_, zero_elements(), std::uint16_t{0});
  }

  /// Where the gradient of the input goes.
  TileConvResult room(const std::int32_t* places) const { return {floats_.data(), halves_.data(), places}; }
  /// It is there, of these images, which are in `x`.
  void add(std::int64_t first, std::int64_t images, const FramedImages& x) const {
    for (std::int64_t i = 0; i < images; ++i) {
      const std::int64_t at = i * places_.image_pitch;
      if (float_weight_)
        float_weight_->add(floats_.data() + at, x_(first + i, 1), 1);
      else if (float* sums = tile_weight_->bias_sums())
        add_up(sums, halves_.data() + at);
    }
    if (tile_weight_)
      tile_weight_->add(
          {x.front_frame(), halves_.data(), pass_.places.data(), static_cast<std::int32_t>(zero_)}, images);
  }
  void finish() const {
    if (float_weight_) float_weight_->finish();
  }

 private:
  std::int64_t zero_elements() const { return round_up(result_.c, kTileRows); }
  void add_up(float* sums, std::uint16_t* image) const {
    kernels_.tiles->frame_gradient(image, sums, {image, nullptr, nullptr, 1}, result_, places_);
  }

  const Kernels& kernels_;
  const FrontWeightPass& pass_;
  ImageShape result_;
  PixelPlaces places_;
  std::int64_t zero_;
  ReadRows x_;
  Scratch<float> floats_;
  Scratch<std::uint16_t> halves_;
  std::optional<WeightGradientPass::Runner> float_weight_;
  std::optional<TileWeightGradient::Runner> tile_weight_;
};

// The passes of a backward pass by tiles, prepared for all threads, and where pixels go.
struct TileBackwardPasses {
  TileConvShape of_x, of_gradient;
  std::optional<TileFront> front;
  std::optional<TileConv> input;
  std::optional<PlaceTable> input_places;  // of the gradient of the input
  std::optional<TileWeightGradient> weight;
  std::optional<PlaceTable> weight_places;  // of x's pixels in the frame of the result's gradient
  std::optional<FrontWeightPass> front_weight;
  std::optional<PlaceTable> relu_places;  // of a front's result that its gradient is masked by

  TileBackwardPasses(Backend& backend, const Kernels& kernels, const Conv2dLayerBackward& layer,
                     const OwnBackward& plan, const Tensor& front_floats, int chunks)
      : of_x(tile_shape(plan.weight_problem).with_images(images_in_frame(backend, plan.weight_problem))),
        of_gradient(tile_shape(plan.input_problem).with_images(of_x.images)) {
    if (plan.input) {
      input.emplace(backend, kernels, plan.input_problem, of_x.images, layer.conv.weight, nullptr);
      input_places.emplace(backend, of_gradient, of_gradient.dense_result());
    }
    if (plan.weight) {
      weight.emplace(backend, kernels, plan.weight_problem, of_x.images, chunks);
      weight_places.emplace(backend, of_x, of_gradient.in_frame(), of_gradient.zero_pixel());
    }
    if (!plan.front) return;
    front.emplace(backend, kernels, *plan.front, plan.front_problem, *layer.front, front_floats, of_x);
    if (!layer.grad_front_weight.defined()) return;
    front_weight.emplace(backend, kernels, *plan.front_weight, plan.front_weight_problem, of_gradient,
                         chunks);
    if (plan.front_problem.relu) relu_places.emplace(backend, of_gradient, of_x.in_frame());
  }
};

// What one thread does for one chunk of the images.
class TileBackward {
 public:
  TileBackward(Backend& backend, const Kernels& kernels, const Conv2dLayerBackward& layer,
               const OwnBackward& plan, const TileBackwardPasses& passes, int chunk)
      : p_(plan.weight_problem),
        passes_(passes),
        gradient_(backend, kernels, layer, p_, passes.of_gradient),
        grad_x_(backend, kernels, layer.conv.grad_x, p_.n, 1),
        grad_x_halves_(is_bfloat16(layer.conv.grad_x) ? bits_of(layer.conv.grad_x) : nullptr) {
    if (layer.conv.x.defined())
      x_.emplace(backend, kernels, layer.conv.x, p_.n, passes.front ? &*passes.front : nullptr, passes.of_x);
    if (passes.weight) weight_.emplace(*passes.weight, chunk);
    if (passes.front_weight)
      front_.emplace(backend, kernels, layer.conv.x, plan.front_problem, passes.of_gradient,
                     *passes.front_weight, chunk);
  }

  void operator()(std::int64_t begin, std::int64_t end) const {
    in_pieces(begin, end, passes_.of_x.images,
              [&](std::int64_t first, std::int64_t images) { run(first, images); });
    if (front_) front_->finish();
  }

 private:
  void run(std::int64_t first, std::int64_t images) const {
    const std::uint16_t* gradient = gradient_(first, images, weight_ ? weight_->bias_sums() : nullptr);
    const std::uint16_t* x = weight_ || front_ ? (*x_)(first, images) : nullptr;
    if (weight_) {
      const auto zero = static_cast<std::int32_t>(passes_.of_gradient.zero_pixel());
      weight_->add({x, gradient, passes_.weight_places->data(), zero}, images);
    }
    if (!passes_.input) return;
    (*passes_.input)(front_ ? front_gradient(x) : grad_x(first), gradient, images);
    if (front_) front_->add(first, images, *x_);
  }

  TileConvResult grad_x(std::int64_t first) const {
    const std::int32_t* places = passes_.input_places->data();
    if (grad_x_halves_) return {nullptr, grad_x_halves_ + first * in_elements(p_), places};
    return {grad_x_.room(first), nullptr, places};
  }
  // It passes where the front's relu did, of which `x` is the result.
  TileConvResult front_gradient(const std::uint16_t* x) const {
    TileConvResult to = front_->room(passes_.input_places->data());
    if (passes_.relu_places) {
      to.passing = x;
      to.passing_places = passes_.relu_places->data();
    }
    return to;
  }

  const ConvProblem& p_;
  const TileBackwardPasses& passes_;
  FramedGradients gradient_;
  WrittenRows grad_x_;
  std::uint16_t* grad_x_halves_;
  std::optional<FramedImages> x_;
  std::optional<TileWeightGradient::Runner> weight_;
  std::optional<FrontGradients> front_;
};

}  // namespace

void OneDnnBackend::run_tiles_backward(const Conv2dLayerBackward& layer, const OwnBackward& plan,
                                       const Tensor& front_floats) {
  const std::int64_t n = plan.weight_problem.n;
  const TileBackwardPasses passes(*this, kernels_, layer, plan, front_floats, threads().chunks(n, 1));
  threads().parallel_chunks(n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    TileBackward(*this, kernels_, layer, plan, passes, chunk)(begin, end);
  });
  collect_weights(passes, layer);
}

}  // namespace ronde::inline v0
