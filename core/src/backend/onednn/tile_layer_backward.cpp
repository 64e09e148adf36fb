// All gradients of layers whose convolution is made of tiles: Note [Tiles] in tile_conv2d.cpp.
#include <algorithm>

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

// The gradient of a front's result, and what becomes of it: bfloat16 with zeros behind, or floats.
class FrontGradients {
 public:
  FrontGradients(Backend& backend, const Kernels& kernels, const Tensor& x, const ConvProblem& front,
                 std::int64_t images, const TileConvShape& of_gradient,
                 const std::optional<TileWeightGradient>& tiles,
                 const std::optional<WeightGradientPass>& floats, int chunk)
      : kernels_(kernels),
        result_{front.oh, front.ow, front.o},
        places_(of_gradient.dense_result()),
        elements_(out_elements(front)),
        x_(backend, kernels, x, front.n, 1),
        floats_(backend, floats ? images * elements_ : 0),
        halves_(backend, tiles ? images * elements_ + zero_elements() : 0),
        numbering_(backend, tile_shape(front).with_images(images), places_, images * elements_) {
    if (floats) float_weight_.emplace(*floats, chunk);
    if (!tiles) return;
    tile_weight_.emplace(*tiles, chunk);
    std::fill_n(halves_.data() + images * elements_, zero_elements(), std::uint16_t{0});
    zero_ = static_cast<std::int32_t>(images * elements_);
  }

  /// Where the gradient of the input goes.
  TileConvResult room(const std::int32_t* places) const { return {floats_.data(), halves_.data(), places}; }
  /// It is there, of these images, of which the front by tiles has read that frame.
  void add(std::int64_t first, std::int64_t images, const std::uint16_t* frame) const {
    if (float_weight_) {
      for (std::int64_t i = 0; i < images; ++i)
        float_weight_->add(floats_.data() + i * elements_, x_(first + i, 1), 1);
      return;
    }
    if (float* sums = tile_weight_->bias_sums())
      for (std::int64_t i = 0; i < images; ++i) {
        std::uint16_t* image = halves_.data() + i * elements_;
        kernels_.tiles->frame_gradient(image, sums, {image, nullptr, nullptr, 1}, result_, places_);
      }
    tile_weight_->add({frame, halves_.data(), numbering_.data(), zero_}, images);
  }
  bool is_tiled() const { return tile_weight_.has_value(); }
  void finish() const {
    if (float_weight_) float_weight_->finish();
  }

 private:
  std::int64_t zero_elements() const { return tiles_for(result_.c, kTileRows) * kTileRows; }

  const Kernels& kernels_;
  ImageShape result_;
  PixelPlaces places_;
  std::int64_t elements_;
  ReadRows x_;
  Scratch<float> floats_;
  Scratch<std::uint16_t> halves_;
  PlaceTable numbering_;  // by pixels of the front's frame
  std::int32_t zero_ = 0;
  std::optional<WeightGradientPass::Runner> float_weight_;
  std::optional<TileWeightGradient::Runner> tile_weight_;
};

}  // namespace

// The passes of a backward pass by tiles, prepared for all threads.
struct OneDnnBackend::TileBackwardPasses {
  std::int64_t images;
  std::optional<TileFront> front;
  std::optional<TileConv> input;
  std::optional<TileWeightGradient> weight, front_weight;
  std::optional<WeightGradientPass> float_front_weight;

  TileBackwardPasses(OneDnnBackend& backend, const Conv2dLayerBackward& layer, const OwnBackward& plan,
                     const Tensor& front_floats, int chunks)
      : images(images_in_frame(backend, plan.problem)),
        front(TileFront::make(backend, backend.kernels_, plan.front, plan.front_problem, images, layer.front,
                              front_floats)) {
    const Kernels& kernels = backend.kernels_;
    if (plan.input)
      input.emplace(backend, kernels, input_problem(plan.problem), images, layer.conv.weight, nullptr);
    if (plan.weight) weight.emplace(backend, kernels, plan.problem, images, chunks);
    if (!layer.grad_front_weight.defined()) return;
    ConvProblem p = plan.front_problem;
    p.pass = ConvPass::backward_weight;
    p.has_bias = layer.grad_front_bias.defined();
    if (plan.front_weight == ConvKernels::tiles && plan.front == ConvKernels::tiles)
      front_weight.emplace(backend, kernels, p, images, chunks);
    else
      float_front_weight.emplace(backend, kernels, *plan.front_weight, p, chunks);
  }

  void collect(const Conv2dLayerBackward& layer) const {
    if (weight) weight->collect(layer.conv.grad_weight.data<float>(), floats_or_null(layer.conv.grad_bias));
    if (!layer.grad_front_weight.defined()) return;
    float *to = layer.grad_front_weight.data<float>(), *bias = floats_or_null(layer.grad_front_bias);
    front_weight ? front_weight->collect(to, bias) : float_front_weight->collect(to, bias);
  }
};

// What one thread does for one chunk of the images.
class OneDnnBackend::TileBackward {
 public:
  TileBackward(OneDnnBackend& backend, const Conv2dLayerBackward& layer, const OwnBackward& plan,
               const TileBackwardPasses& passes, int chunk)
      : p_(plan.problem),
        of_x_(tile_shape(p_).with_images(passes.images)),
        of_gradient_(tile_shape(input_problem(p_)).with_images(passes.images)),
        has_relu_in_front_(plan.front_problem.relu),
        passes_(passes),
        gradient_(backend, backend.kernels_, layer, p_, of_gradient_),
        gradient_places_(backend, of_x_, of_gradient_.in_frame(), of_gradient_.zero_pixel()),
        grad_x_(backend, backend.kernels_, layer.conv.grad_x, p_.n, 1),
        grad_x_halves_(is_bfloat16(layer.conv.grad_x) ? bits_of(layer.conv.grad_x) : nullptr),
        grad_x_places_(backend, of_gradient_, of_gradient_.dense_result()),
        passing_(backend, of_gradient_, of_x_.in_frame()) {
    const Kernels& kernels = backend.kernels_;
    if (layer.conv.x.defined())
      x_.emplace(backend, kernels, layer.conv.x, p_.n, passes.front ? &*passes.front : nullptr, of_x_);
    if (passes.weight) weight_.emplace(*passes.weight, chunk);
    if (layer.grad_front_weight.defined())
      front_.emplace(backend, kernels, layer.conv.x, plan.front_problem, passes.images, of_gradient_,
                     passes.front_weight, passes.float_front_weight, chunk);
  }

  void operator()(std::int64_t begin, std::int64_t end) const {
    in_pieces(begin, end, passes_.images,
              [&](std::int64_t first, std::int64_t images) { run(first, images); });
    if (front_) front_->finish();
  }

 private:
  void run(std::int64_t first, std::int64_t images) const {
    const std::uint16_t* gradient = gradient_(first, images, weight_ ? weight_->bias_sums() : nullptr);
    const std::uint16_t* x = weight_ || front_ ? (*x_)(first, images) : nullptr;
    if (weight_) {
      const auto zero = static_cast<std::int32_t>(of_gradient_.zero_pixel());
      weight_->add({x, gradient, gradient_places_.data(), zero}, images);
    }
    if (!passes_.input) return;
    (*passes_.input)(front_ ? front_gradient(x) : grad_x(first), gradient, images);
    if (front_) front_->add(first, images, front_->is_tiled() ? x_->front_frame() : nullptr);
  }

  TileConvResult grad_x(std::int64_t first) const {
    if (grad_x_halves_) return {nullptr, grad_x_halves_ + first * in_elements(p_), grad_x_places_.data()};
    return {grad_x_.room(first), nullptr, grad_x_places_.data()};
  }
  // It passes where the front's relu did, of which `x` is the result.
  TileConvResult front_gradient(const std::uint16_t* x) const {
    TileConvResult to = front_->room(grad_x_places_.data());
    if (has_relu_in_front_) {
      to.passing = x;
      to.passing_places = passing_.data();
    }
    return to;
  }

  const ConvProblem& p_;
  TileConvShape of_x_, of_gradient_;
  bool has_relu_in_front_;
  const TileBackwardPasses& passes_;
  FramedGradients gradient_;
  PlaceTable gradient_places_;
  WrittenRows grad_x_;
  std::uint16_t* grad_x_halves_;
  PlaceTable grad_x_places_, passing_;
  std::optional<FramedImages> x_;
  std::optional<TileWeightGradient::Runner> weight_;
  std::optional<FrontGradients> front_;
};

void OneDnnBackend::run_tiles_backward(const Conv2dLayerBackward& layer, const OwnBackward& plan,
                                       const Tensor& front_floats) {
  const std::int64_t n = plan.problem.n;
  const TileBackwardPasses passes(*this, layer, plan, front_floats, threads().chunks(n, 1));
  threads().parallel_chunks(n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    TileBackward(*this, layer, plan, passes, chunk)(begin, end);
  });
  passes.collect(layer);
}

}  // namespace ronde::inline v0
