// Note [Fused convolutions]
// Relu, pooling, dropout and their gradients belong to the convolution: what lies between them is as large as
// all other activations together, and going through memory with it took as long as multiplying. Each thread
// makes a few images of it at a time, in scratch that stays in its second level cache: forward they are
// pooled there, backward the gradient is spread out there, and both gradients of the convolution read it. So
// does a first layer of few channels: its result is as large as the next one's, but made again in a moment.
#include <algorithm>
#include <utility>

#include "backend/onednn/backend.h"
#include "backend/onednn/dropout_mask.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/pool_shape.h"

namespace ronde::inline v0 {

namespace {

// What a front may add to the arithmetic of a layer that makes it twice: a first layer adds a tenth.
constexpr std::int64_t kLeastRatio = 4;

std::int64_t taps(const ConvProblem& p) {
  return p.kh * p.kw * p.c;
}

// Nothing in front of the convolution or behind it, nothing to be widened.
bool is_alone(const Conv2dLayer& layer) {
  return !layer.front && !layer.sample_keys.defined() && !layer.argmax.defined() && !is_bfloat16(layer.x) &&
         !is_bfloat16(layer.out) && !is_bfloat16(layer.conv.weight);
}

// What one thread does for a layer forward.
class ForwardRun {
 public:
  // `norm`, of a convolution that is_alone(), and `front` may be null.
  ForwardRun(Backend& backend, const Kernels& kernels, const Conv2dLayer& layer, const OwnForward& plan,
             const ImagePass* front, const ImagePass& conv, const NormMap* norm)
      : kernels_(kernels),
        layer_(layer),
        norm_(norm),
        p_(plan.problem),
        pool_(pool_shape(out_shape(p_), layer.out.shape(), layer.pool)),
        mask_(layer.sample_keys.defined() ? DropoutMask::make(layer.dropout) : std::nullopt),
        step_(images_at_once(p_, (front ? in_elements(p_) : 0) + widened_elements(layer.x, p_.n) +
                                     widened_elements(layer.out, p_.n))),
        x_(backend, kernels, layer.x, p_.n, step_),
        out_(backend, kernels, layer.out, p_.n, step_),
        conv_(conv),
        pools_(layer.argmax.defined() && conv.pools_by(pool_)),
        middle_(backend, front ? step_ * in_elements(p_) : 0),
        whole_(backend, layer.argmax.defined() && !pools_ ? step_ * out_elements(p_) : 0) {
    if (front) front_.emplace(*front);
  }

  void operator()(std::int64_t begin, std::int64_t end) const {
    if (norm_) return conv_(out_.room(begin), x_(begin, end - begin), end - begin, *norm_);
    const std::int64_t step = is_alone(layer_) ? end - begin : step_;
    for (std::int64_t i = begin; i < end; i += step) run(i, std::min(step, end - i));
  }

  // A part of an image, of a convolution that is_alone().
  void operator()(std::int64_t image, ImagePart part) const { conv_(out_.room(image), x_(image, 1), part); }

 private:
  void run(std::int64_t first, std::int64_t images) const {
    const float* x = x_(first, images);
    if (front_) {
      (*front_)(middle_.data(), x, images);
      x = middle_.data();
    }
    float* out = out_.room(first);
    if (pools_)
      conv_(PooledOutput{out, argmax(first)}, x, images);
    else
      conv_(layer_.argmax.defined() ? whole_.data() : out, x, images);
    for (std::int64_t i = 0; i < images; ++i)
      finish(first + i, out + i * out_.elements(), whole_.data() + i * out_elements(p_));
    out_.keep(first, images);
  }

  // Pooling and dropout of image i, whose whole result is given if it is pooled.
  void finish(std::int64_t i, float* out, const float* whole) const {
    if (layer_.argmax.defined() && !pools_) kernels_.max_pool(out, argmax(i), whole, pool_);
    if (mask_)
      mask_->apply(kernels_, out, out, out_.elements(), layer_.sample_keys.data<std::int64_t>() + 2 * i);
  }

  std::uint8_t* argmax(std::int64_t image) const {
    return layer_.argmax.data<std::uint8_t>() + image * out_.elements();
  }

  const Kernels& kernels_;
  const Conv2dLayer& layer_;
  const NormMap* norm_;
  const ConvProblem& p_;
  PoolShape pool_;
  std::optional<DropoutMask> mask_;
  std::int64_t step_;  // images at a time
  ReadRows x_;
  WrittenRows out_;
  std::optional<ImagePass::Runner> front_;
  ImagePass::Runner conv_;
  bool pools_;  // conv_ does
  Scratch<float> middle_, whole_;
};

}  // namespace

std::optional<ConvKernels> OneDnnBackend::own_kernels(const ConvProblem& p) const {
  return is_tiled(p) ? ConvKernels::tiles : float_kernels(p);
}

std::optional<ConvKernels> OneDnnBackend::float_kernels(const ConvProblem& p) const {
  if (takes_patches(p)) return std::nullopt;
  if (is_winograd(p)) return ConvKernels::winograd;
  if (is_direct(p)) return ConvKernels::direct;
  return std::nullopt;
}

// The convolution without the last rows and columns, where no window of the pooling reaches them: nobody sees
// them, and their gradient is 0. A result of 13x13 of which 2x2 windows reach 12x12 then is 4 tiles of 6x6.
// Only a frame has to have room for all of a front's result.
ConvProblem OneDnnBackend::in_front_of_pool(const ConvProblem& whole, const Shape& pooled,
                                            const Pool2dParams& pool, bool has_front) const {
  if (has_front && is_tiled(whole)) return whole;
  const auto reached = [](std::int64_t windows, std::int64_t stride, std::int64_t window,
                          std::int64_t before) { return (windows - 1) * stride + window - before; };
  ConvProblem p = whole;
  p.oh = std::min(p.oh, reached(pooled[1], pool.stride.h, pool.window.h, pool.padding.top));
  p.ow = std::min(p.ow, reached(pooled[2], pool.stride.w, pool.window.w, pool.padding.left));
  return is_tiled(p) || is_winograd(p) ? p : whole;
}

// Nothing where another path has to be taken.
std::optional<OwnForward> OneDnnBackend::plan_forward(const Conv2dLayer& given) const {
  const Conv2dLayer layer = is_bfloat16(given.x) ? of_bfloat16(given) : given;
  if (!dense_images(layer.conv.params, layer.out, layer.x, layer.conv.weight) || layer.out.count() == 0 ||
      layer.x.count() == 0)
    return std::nullopt;
  if (layer.argmax.defined() && !is_byte_index(layer.argmax)) return std::nullopt;
  OwnForward plan;
  Shape x = layer.x.shape();
  if (layer.front) {
    plan.front_problem = stage_problem(x, *layer.front);
    if (!dense_images(layer.front->params, layer.front->weight)) return std::nullopt;
    x = out_shape(plan.front_problem);
  }
  plan.problem = stage_problem(x, layer.conv);
  if (layer.argmax.defined())
    plan.problem = in_front_of_pool(plan.problem, layer.out.shape(), layer.pool, layer.front.has_value());
  const std::optional<ConvKernels> own = own_kernels(plan.problem);
  if (!own) return std::nullopt;
  plan.conv = *own;
  if (!layer.front) return plan;
  plan.front =
      *own == ConvKernels::tiles ? own_kernels(plan.front_problem) : float_kernels(plan.front_problem);
  return plan.front ? std::optional(plan) : std::nullopt;
}

bool OneDnnBackend::fuses(const Conv2dLayer& layer) const {
  const std::optional<OwnForward> plan = plan_forward(layer);
  if (!plan || (layer.argmax.defined() && windows_overlap(layer.pool))) return false;
  for (const ConvPass pass : {ConvPass::backward_input, ConvPass::backward_weight})
    if (!own_kernels(with_pass(plan->problem, pass))) return false;
  const bool drops = layer.sample_keys.defined();
  if (drops && (layer.conv.epilogue != Epilogue::relu || !layer.sample_keys.is_contiguous() ||
                !DropoutMask::make(layer.dropout)))
    return false;
  if (!layer.front) return drops;
  const ConvProblem front = with_pass(plan->front_problem, ConvPass::backward_weight);
  return own_kernels(front) && kLeastRatio * taps(front) <= taps(plan->problem);
}

bool OneDnnBackend::own_conv2d(const Conv2dLayer& layer, const NormMap* norm) {
  const std::optional<OwnForward> plan = plan_forward(layer);
  if (!plan) return false;
  const ConvProblem& p = plan->problem;
  const std::int64_t channel_parts = parts_of_channels(threads(), p, plan->conv);
  const bool alone = is_alone(layer), is_tiled = plan->conv == ConvKernels::tiles;
  if (!alone && (channel_parts > 0 || parts_of_image(threads(), p) > 1) && !is_tiled) return false;
  if (channel_parts > 0) {
    share_conv2d(p, channel_parts, layer.out.data<float>(), layer.x.data<float>(),
                 layer.conv.weight.data<float>(), floats_or_null(layer.conv.bias));
    if (norm) normalise(layer.out, layer.out, *norm);
    return true;
  }
  const auto run = [&](const Tensor& weight, const Tensor& bias, const Tensor& front_weight,
                       const Tensor& front_bias) {
    if (is_tiled) {
      Conv2dLayer wide = layer;
      wide.conv.bias = bias;
      if (wide.front) wide.front->bias = front_bias;
      return run_tiles(wide, *plan, front_weight);
    }
    const ImagePass conv(*this, kernels_, plan->conv, plan->problem, weight.data<float>(),
                         floats_or_null(bias));
    std::optional<ImagePass> front;
    if (plan->front)
      front.emplace(*this, kernels_, *plan->front, plan->front_problem, front_weight.data<float>(),
                    floats_or_null(front_bias));
    const std::int64_t parts = alone && conv.has_parts() ? parts_of_image(threads(), p) : 1;
    const NormMap* of_images = parts == 1 ? norm : nullptr;
    threads().parallel_for(p.n * parts, 1, [&](std::int64_t begin, std::int64_t end) {
      const ForwardRun images(*this, kernels_, layer, *plan, front ? &*front : nullptr, conv, of_images);
      if (parts == 1) return images(begin, end);
      for (std::int64_t i = begin; i < end; ++i) images(i / parts, ImagePart{i % parts, parts});
    });
    if (norm && !of_images) normalise(layer.out, layer.out, *norm);
  };
  const Conv2dStage front = layer.front.value_or(Conv2dStage{});
  with_floats(run, read(is_tiled ? Tensor() : layer.conv.weight), read(layer.conv.bias), read(front.weight),
              read(front.bias));
  return true;
}

void OneDnnBackend::conv2d_layer(const Conv2dLayer& layer) {
  if (!fuses(layer) || !own_conv2d(layer)) WithBfloat16::conv2d_layer(layer);
}

void OneDnnBackend::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                      const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                      Epilogue epilogue, const Pool2dParams& pool) {
  if (!own_conv2d(
          {.out = out, .argmax = argmax, .x = x, .conv = {weight, bias, params, epilogue}, .pool = pool}))
    WithBfloat16::conv2d_max_pool2d(out, argmax, x, weight, bias, params, epilogue, pool);
}

}  // namespace ronde::inline v0
