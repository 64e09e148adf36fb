// All gradients of a convolution and of what is fused with it: Note [Fused convolutions] in conv2d_layer.cpp.
#include <utility>

#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/pool_shape.h"

namespace ronde::inline v0 {

namespace {

// Whether all tensors are as our kernels take them.
bool can_fuse(const Conv2dBackward& layer) {
  const bool input = layer.grad_x.defined(), weight = layer.grad_weight.defined();
  const auto takes = [&](const Tensor& images) { return dense_images(layer.params, images); };
  if (!takes(layer.grad_out) || layer.grad_out.count() == 0) return false;
  if (layer.out.defined() && !takes(layer.out)) return false;
  if (layer.argmax.defined() && (!is_byte_index(layer.argmax) || windows_overlap(layer.pool))) return false;
  if (layer.grad_bias.defined() && !weight) return false;
  if (input && (!takes(layer.grad_x) || !takes(layer.weight) || layer.grad_x.count() == 0)) return false;
  return !weight || (takes(layer.grad_weight) && takes(layer.x) && layer.x.count() > 0);
}

// One gradient of a convolution, with nothing around it and nothing to be widened.
bool is_alone(const Conv2dLayerBackward& layer) {
  const Conv2dBackward& c = layer.conv;
  return !layer.front && !c.out.defined() && !c.argmax.defined() && layer.dropout_scale == 1.0 &&
         c.grad_x.defined() != c.grad_weight.defined() && !is_bfloat16(c.grad_out) &&
         !is_bfloat16(c.grad_x) && !is_bfloat16(c.x) && !is_bfloat16(c.weight) && !is_bfloat16(c.grad_weight);
}

// Of an image's tensors in scratch.
std::int64_t widened_elements(const Conv2dBackward& conv, std::int64_t n) {
  return widened_elements(conv.grad_out, n) + widened_elements(conv.out, n) + widened_elements(conv.x, n) +
         widened_elements(conv.grad_x, n);
}

// The gradient of the convolution's result, made of that of the layer's, some images at a time.
class GradientSource {
 public:
  GradientSource(Backend& backend, const Kernels& kernels, const Conv2dLayerBackward& layer,
                 const ConvProblem& problem, std::int64_t most_images)
      : kernels_(kernels),
        layer_(layer.conv),
        dropout_scale_(static_cast<float>(layer.dropout_scale)),
        whole_(out_elements(problem)),
        grad_(backend, kernels, layer_.grad_out, problem.n, most_images),
        y_(backend, kernels, layer_.out, problem.n, most_images),
        shape_(pool_shape(out_shape(problem), layer_.grad_out.shape(), layer_.pool)),
        made_(backend, most_images * (layer_.argmax.defined() ? whole_
                                      : layer_.out.defined()  ? grad_.elements()
                                                              : 0)) {}

  /// Of `images` images from the first one on; until the next call.
  const float* operator()(std::int64_t first, std::int64_t images) const {
    const float *grad = grad_(first, images), *y = y_(first, images);
    const std::int64_t given = grad_.elements();
    if (layer_.argmax.defined()) {
      const std::uint8_t* argmax = layer_.argmax.data<std::uint8_t>() + first * given;
      for (std::int64_t i = 0; i < images; ++i)
        kernels_.max_pool_backward(made_.data() + i * whole_, grad + i * given, argmax + i * given, shape_,
                                   {y ? y + i * given : nullptr, dropout_scale_});
      return made_.data();
    }
    if (!y) return grad;
    kernels_.unary_backward(UnaryOp::relu, made_.data(), grad, y, y, images * given, 0, 0);
    if (dropout_scale_ != 1.0f)
      kernels_.unary(UnaryOp::affine, made_.data(), made_.data(), images * given, dropout_scale_, 0);
    return made_.data();
  }

 private:
  const Kernels& kernels_;
  const Conv2dBackward& layer_;
  float dropout_scale_;
  std::int64_t whole_;  // elements of an image of the convolution's result
  ReadRows grad_, y_;
  PoolShape shape_;
  Scratch<float> made_;
};

// The passes of a backward pass, prepared for all threads.
struct BackwardPasses {
  std::optional<ImagePass> front, input;
  std::optional<WeightGradientPass> weight, front_weight;

  BackwardPasses(Backend& backend, const Kernels& kernels, const Conv2dLayerBackward& layer,
                 const OwnBackward& plan, int chunks) {
    if (plan.input)
      input.emplace(backend, kernels, *plan.input, plan.input_problem, layer.conv.weight.data<float>(),
                    nullptr);
    if (plan.weight) weight.emplace(backend, kernels, *plan.weight, plan.weight_problem, chunks);
    if (!plan.front) return;
    front.emplace(backend, kernels, *plan.front, plan.front_problem, layer.front->weight.data<float>(),
                  floats_or_null(layer.front->bias));
    if (layer.grad_front_weight.defined())
      front_weight.emplace(backend, kernels, *plan.front_weight, plan.front_weight_problem, chunks);
  }
};

// What one thread does for one chunk of the images.
class BackwardRun {
 public:
  BackwardRun(Backend& backend, const Kernels& kernels, const Conv2dLayerBackward& layer,
              const OwnBackward& plan, const BackwardPasses& passes, int chunk)
      : kernels_(kernels),
        p_(plan.weight_problem),
        has_relu_in_front_(plan.front_problem.relu),
        step_(
            images_at_once(p_, (plan.front ? 2 * in_elements(p_) : 0) + widened_elements(layer.conv, p_.n))),
        x_(backend, kernels, layer.conv.x, p_.n, step_),
        grad_x_(backend, kernels, layer.conv.grad_x, p_.n, step_),
        gradient_(backend, kernels, layer, p_, step_),
        middle_(backend, plan.front ? step_ * in_elements(p_) : 0),
        grad_middle_(backend, plan.front ? step_ * in_elements(p_) : 0) {
    if (passes.front) front_.emplace(*passes.front);
    if (passes.input) input_.emplace(*passes.input);
    if (passes.weight) weight_.emplace(*passes.weight, chunk);
    if (passes.front_weight) front_weight_.emplace(*passes.front_weight, chunk);
  }

  void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; i += step_) run(i, std::min(step_, end - i));
    if (weight_) weight_->finish();
    if (front_weight_) front_weight_->finish();
  }

 private:
  void run(std::int64_t first, std::int64_t images) const {
    const float* grad = gradient_(first, images);
    const float* x = x_(first, images);
    if (front_) return run_behind_front(grad, x, images);
    make(grad_x_.room(first), grad, x, images);
    grad_x_.keep(first, images);
  }

  // The gradients that are wanted.
  void make(float* grad_x, const float* grad, const float* x, std::int64_t images) const {
    if (weight_ && input_) return weight_->add(grad, x, images, *input_, grad_x);
    if (weight_) weight_->add(grad, x, images);
    if (input_) (*input_)(grad_x, grad, images);
  }

  void run_behind_front(const float* grad, const float* x, std::int64_t images) const {
    (*front_)(middle_.data(), x, images);
    float* to = grad_middle_.data();
    make(to, grad, middle_.data(), images);
    if (!front_weight_) return;
    if (has_relu_in_front_)
      kernels_.unary_backward(UnaryOp::relu, to, to, middle_.data(), middle_.data(), images * in_elements(p_),
                              0, 0);
    front_weight_->add(to, x, images);
  }

  const Kernels& kernels_;
  const ConvProblem& p_;
  bool has_relu_in_front_;
  std::int64_t step_;  // images at a time
  ReadRows x_;
  WrittenRows grad_x_;
  GradientSource gradient_;
  std::optional<ImagePass::Runner> front_, input_;
  std::optional<WeightGradientPass::Runner> weight_, front_weight_;
  Scratch<float> middle_, grad_middle_;  // the front's result, and its gradient
};

// Of weights and their gradients in f32.
void run_backward(Backend& backend, const Kernels& kernels, const Conv2dLayerBackward& layer,
                  const OwnBackward& plan) {
  const std::int64_t n = plan.weight_problem.n;
  const BackwardPasses passes(backend, kernels, layer, plan, backend.threads().chunks(n, 1));
  backend.threads().parallel_chunks(n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    BackwardRun(backend, kernels, layer, plan, passes, chunk)(begin, end);
  });
  collect_weights(passes, layer);
}

// Whether threads share the channels of the gradients, one call for each. Sets `parts` for the one that is
// wanted.
bool shares_gradients(const ThreadPool& threads, const OwnBackward& plan, std::int64_t& parts) {
  parts = 0;
  if (plan.weight) parts = parts_of_channels(threads, plan.weight_problem, *plan.weight);
  if (plan.input) parts = std::max(parts, parts_of_channels(threads, plan.input_problem, *plan.input));
  return parts > 0;
}

}  // namespace

// Nothing where another path has to be taken.
std::optional<OwnBackward> OneDnnBackend::plan_backward(const Conv2dLayerBackward& given) const {
  const Conv2dLayerBackward layer = is_bfloat16(given.conv.grad_out) ? of_bfloat16(given) : given;
  const Conv2dBackward& c = layer.conv;
  if (!can_fuse(c)) return std::nullopt;
  OwnBackward plan;
  Shape x = c.x.defined() ? c.x.shape() : c.grad_x.shape();
  if (layer.front) {
    if (layer.grad_front_bias.defined() && !layer.grad_front_weight.defined()) return std::nullopt;
    plan.front_problem = stage_problem(x, *layer.front);
    x = out_shape(plan.front_problem);
  }
  const Tensor& weight = c.weight.defined() ? c.weight : c.grad_weight;
  const Shape whole{x[0], c.conv_out.h, c.conv_out.w, c.grad_out.size(3)};
  ConvProblem problem = problem_of(ConvPass::backward_input, x, weight.shape(), whole, c.params);
  if (c.argmax.defined())
    problem = in_front_of_pool(problem, c.grad_out.shape(), c.pool, layer.front.has_value());
  problem.has_bias = c.grad_bias.defined();
  plan.input_problem = problem;
  plan.weight_problem = with_pass(problem, ConvPass::backward_weight);
  const bool wants_input = c.grad_x.defined() || layer.grad_front_weight.defined();
  if (wants_input && !(plan.input = own_kernels(plan.input_problem))) return std::nullopt;
  if (c.grad_weight.defined() && !(plan.weight = own_kernels(plan.weight_problem))) return std::nullopt;
  if (!wants_input && !plan.weight) return std::nullopt;
  if (!layer.front) return plan;
  const auto kernels = [&](const ConvProblem& p) {
    return plan.is_tiled() ? own_kernels(p) : float_kernels(p);
  };
  plan.front_weight_problem = with_pass(plan.front_problem, ConvPass::backward_weight);
  plan.front_weight_problem.has_bias = layer.grad_front_bias.defined();
  plan.front = kernels(plan.front_problem);
  plan.front_weight = kernels(plan.front_weight_problem);
  return plan.front && plan.front_weight ? std::optional(plan) : std::nullopt;
}

bool OneDnnBackend::own_conv2d_backward(const Conv2dLayerBackward& layer) {
  const std::optional<OwnBackward> plan = plan_backward(layer);
  if (!plan) return false;
  if (std::int64_t parts; shares_gradients(threads(), *plan, parts)) {
    if (!is_alone(layer)) return false;
    const Conv2dBackward& c = layer.conv;
    if (plan->weight) {
      share_backward_weight(plan->weight_problem, parts, c.grad_weight.data<float>(),
                            c.grad_out.data<float>(), c.x.data<float>());
      sum_pixels(c.grad_bias, c.grad_out);
    } else {
      share_backward_input(plan->input_problem, parts, c.grad_x.data<float>(), c.grad_out.data<float>(),
                           c.weight.data<float>());
    }
    return true;
  }
  const auto run = [&](const Tensor& weight, const Tensor& front_weight, const Tensor& front_bias,
                       const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_front_weight,
                       const Tensor& grad_front_bias) {
    Conv2dLayerBackward wide = layer;
    if (!plan->is_tiled()) wide.conv.weight = weight;
    wide.conv.grad_weight = grad_weight;
    wide.conv.grad_bias = grad_bias;
    if (wide.front && !plan->is_tiled()) wide.front->weight = front_weight;
    if (wide.front) wide.front->bias = front_bias;
    wide.grad_front_weight = grad_front_weight;
    wide.grad_front_bias = grad_front_bias;
    if (plan->is_tiled()) return run_tiles_backward(wide, *plan, front_weight);
    run_backward(*this, kernels_, wide, *plan);
  };
  const Conv2dStage front = layer.front.value_or(Conv2dStage{});
  with_floats(run, read(plan->is_tiled() ? Tensor() : layer.conv.weight), read(front.weight), read(front.bias),
              written(layer.conv.grad_weight), written(layer.conv.grad_bias),
              written(layer.grad_front_weight), written(layer.grad_front_bias));
  return true;
}

// Whether gradients in bf16 are made apart, of the tensors as they lie.
bool OneDnnBackend::parts_gradients(const Conv2dBackward& layer) const {
  const Tensor& weight = layer.weight.defined() ? layer.weight : layer.grad_weight;
  const Tensor& x = layer.x.defined() ? layer.x : layer.grad_x;
  if (!is_bfloat16(layer.grad_out) || !weight.defined() || !x.defined()) return false;
  if (layer.params.groups > 1) return takes_depthwise(weight.shape());
  return takes_pixels(weight.shape(), layer.params) ||
         takes_half_patches(problem_of(ConvPass::backward_weight, x.shape(), weight.shape(),
                                       {x.size(0), layer.conv_out.h, layer.conv_out.w, weight.size(0)},
                                       layer.params));
}

void OneDnnBackend::conv2d_backward(const Conv2dBackward& layer) {
  if (parts_gradients(layer)) return CpuBackend::conv2d_backward(layer);
  if (!own_conv2d_backward({.conv = layer})) WithBfloat16::conv2d_backward(layer);
}

void OneDnnBackend::conv2d_layer_backward(const Conv2dLayerBackward& layer) {
  if (!own_conv2d_backward(layer)) WithBfloat16::conv2d_layer_backward(layer);
}

}  // namespace ronde::inline v0
