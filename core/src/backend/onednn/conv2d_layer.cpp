// Note [Fused convolutions]
// Relu, pooling and their gradients belong to the convolution: what lies between them is as large as all
// other activations together, and going through memory with it took as long as multiplying. Each thread makes
// a few images of it at a time, in scratch that stays in its second level cache: forward they are pooled
// there, backward the gradient is spread out there, and both gradients of the convolution read it.
#include <utility>

#include "backend/cpu/conv_shape.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/pool_shape.h"

namespace ronde::inline v0 {

namespace {

// Elements of the convolution's result that a thread has in its scratch, about.
constexpr std::int64_t kScratchElements = 131072;

std::int64_t images_at_once(const ConvProblem& p) {
  return std::clamp<std::int64_t>(kScratchElements / out_elements(p), 1, p.n);
}

PoolShape pool_shape(const ConvProblem& p, const Shape& out, const Pool2dParams& pool) {
  return pool_shape({p.n, p.oh, p.ow, p.o}, out, pool);
}

bool is_byte_index(const Tensor& argmax) {
  return argmax.dtype() == DType::u8 && argmax.is_contiguous();
}

bool windows_overlap(const Pool2dParams& pool) {
  return pool.stride.h < pool.window.h || pool.stride.w < pool.window.w;
}

// Whether all tensors are as our kernels take them.
bool can_fuse(const Conv2dBackward& layer) {
  const bool input = layer.grad_x.defined(), weight = layer.grad_weight.defined();
  if (!input && !weight) return false;
  if (!dense_floats(layer.grad_out) || layer.grad_out.count() == 0) return false;
  if (layer.out.defined() && !dense_floats(layer.out)) return false;
  if (layer.argmax.defined() && (!is_byte_index(layer.argmax) || windows_overlap(layer.pool))) return false;
  if (layer.grad_bias.defined() && !weight) return false;
  if (input && (!dense_floats(layer.grad_x, layer.weight) || layer.grad_x.count() == 0)) return false;
  return !weight || (dense_floats(layer.grad_weight, layer.x) && layer.x.count() > 0);
}

// The gradient of the convolution's result, made of that of the layer's, some images at a time.
class GradientSource {
 public:
  GradientSource(Backend& backend, const Kernels& kernels, const Conv2dBackward& layer,
                 const ConvProblem& problem)
      : kernels_(kernels),
        layer_(layer),
        whole_(out_elements(problem)),
        given_(layer.grad_out.count() / problem.n),
        shape_(pool_shape(problem, layer.grad_out.shape(), layer.pool)),
        masked_(backend, layer.out.defined() ? images_at_once(problem) * given_ : 0),
        spread_(backend, layer.argmax.defined() ? images_at_once(problem) * whole_ : 0) {}

  /// Of `images` images from the first one on; until the next call.
  const float* operator()(std::int64_t first, std::int64_t images) const {
    const float* grad = layer_.grad_out.data<float>() + first * given_;
    if (layer_.out.defined()) {
      const float* y = layer_.out.data<float>() + first * given_;
      kernels_.unary_backward(UnaryOp::relu, masked_.data(), grad, y, y, images * given_, 0, 0);
      grad = masked_.data();
    }
    if (!layer_.argmax.defined()) return grad;
    const std::uint8_t* argmax = layer_.argmax.data<std::uint8_t>() + first * given_;
    for (std::int64_t i = 0; i < images; ++i)
      kernels_.max_pool_backward(spread_.data() + i * whole_, grad + i * given_, argmax + i * given_, shape_);
    return spread_.data();
  }

 private:
  const Kernels& kernels_;
  const Conv2dBackward& layer_;
  std::int64_t whole_, given_;  // elements of an image of the convolution's and of the layer's result
  PoolShape shape_;
  Scratch<float> masked_, spread_;
};

}  // namespace

std::optional<ConvKernels> OneDnnBackend::own_kernels(const ConvProblem& p) const {
  if (is_winograd(p)) return ConvKernels::winograd;
  if (is_direct(p)) return ConvKernels::direct;
  return std::nullopt;
}

bool OneDnnBackend::own_conv2d(const Conv2dForward& layer) {
  const bool pooled = layer.argmax.defined();
  if (!dense_floats(layer.out, layer.x, layer.weight) || layer.out.count() == 0 || layer.x.count() == 0)
    return false;
  if (pooled && !is_byte_index(layer.argmax)) return false;
  ConvProblem p = problem_of(ConvPass::forward, layer.x.shape(), layer.weight.shape(),
                             conv2d_shape(layer.x, layer.weight, layer.params), layer.params);
  p.relu = layer.epilogue == Epilogue::relu;
  const std::optional<ConvKernels> algorithm = own_kernels(p);
  if (!algorithm) return false;
  const ImagePass pass(*this, kernels_, *algorithm, p, layer.weight.data<float>(),
                       floats_or_null(layer.bias));
  const float* x = layer.x.data<float>();
  float* out = layer.out.data<float>();
  threads().parallel_for(p.n, 1, [&](std::int64_t begin, std::int64_t end) {
    const ImagePass::Runner run(pass);
    if (!pooled) return run(out + begin * out_elements(p), x + begin * in_elements(p), end - begin);
    const PoolShape shape = pool_shape(p, layer.out.shape(), layer.pool);
    const std::int64_t step = images_at_once(p), pooled_image = layer.out.count() / p.n;
    const Scratch<float> whole(*this, step * out_elements(p));
    std::uint8_t* argmax = layer.argmax.data<std::uint8_t>();
    for (std::int64_t i = begin; i < end; i += step) {
      const std::int64_t images = std::min(step, end - i);
      run(whole.data(), x + i * in_elements(p), images);
      for (std::int64_t k = 0; k < images; ++k)
        kernels_.max_pool(out + (i + k) * pooled_image, argmax + (i + k) * pooled_image,
                          whole.data() + k * out_elements(p), shape);
    }
  });
  return true;
}

void OneDnnBackend::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                      const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                      Epilogue epilogue, const Pool2dParams& pool) {
  if (!own_conv2d({out, argmax, x, weight, bias, params, epilogue, pool}))
    CpuBackend::conv2d_max_pool2d(out, argmax, x, weight, bias, params, epilogue, pool);
}

// Nothing where another path has to be taken.
std::optional<OneDnnBackend::OwnBackward> OneDnnBackend::plan_backward(const Conv2dBackward& layer) const {
  if (!can_fuse(layer)) return std::nullopt;
  const Tensor& x = layer.x.defined() ? layer.x : layer.grad_x;
  const Tensor& weight = layer.weight.defined() ? layer.weight : layer.grad_weight;
  const Shape whole{x.size(0), layer.conv_out.h, layer.conv_out.w, layer.grad_out.size(3)};
  OwnBackward plan;
  plan.problem = problem_of(ConvPass::backward_input, x.shape(), weight.shape(), whole, layer.params);
  plan.problem.has_bias = layer.grad_bias.defined();
  if (layer.grad_x.defined() && !(plan.input = own_kernels(plan.problem))) return std::nullopt;
  plan.problem.pass = ConvPass::backward_weight;
  if (layer.grad_weight.defined() && !(plan.weight = own_kernels(plan.problem))) return std::nullopt;
  return plan;
}

bool OneDnnBackend::own_conv2d_backward(const Conv2dBackward& layer) {
  const std::optional<OwnBackward> plan = plan_backward(layer);
  if (!plan) return false;
  const ConvProblem& p = plan->problem;
  ConvProblem of_input = p;
  of_input.pass = ConvPass::backward_input;
  std::optional<ImagePass> input;
  std::optional<WeightGradientPass> weight;
  if (plan->input)
    input.emplace(*this, kernels_, *plan->input, of_input, layer.weight.data<float>(), nullptr);
  if (plan->weight) weight.emplace(*this, kernels_, *plan->weight, p, threads().chunks(p.n, 1));
  threads().parallel_chunks(p.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    const GradientSource gradient(*this, kernels_, layer, p);
    std::optional<ImagePass::Runner> run_input;
    std::optional<WeightGradientPass::Runner> run_weight;
    if (input) run_input.emplace(*input);
    if (weight) run_weight.emplace(*weight, chunk);
    const std::int64_t step = images_at_once(p);
    for (std::int64_t i = begin; i < end; i += step) {
      const std::int64_t images = std::min(step, end - i);
      const float* grad = gradient(i, images);
      if (weight) run_weight->add(grad, layer.x.data<float>() + i * in_elements(p), images);
      if (input) (*run_input)(layer.grad_x.data<float>() + i * in_elements(p), grad, images);
    }
    if (weight) run_weight->finish();
  });
  if (weight) weight->collect(layer.grad_weight.data<float>(), floats_or_null(layer.grad_bias));
  return true;
}

void OneDnnBackend::conv2d_backward(const Conv2dBackward& layer) {
  if (!own_conv2d_backward(layer)) CpuBackend::conv2d_backward(layer);
}

}  // namespace ronde::inline v0
