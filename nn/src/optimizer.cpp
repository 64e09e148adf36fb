#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

namespace {

/// What a gradient of this norm is multiplied with so that its norm is at most `limit`.
double clip_factor(double norm, double limit) {
  return norm > limit ? limit / norm : 1.0;
}

double global_norm(const Tensor& gradients) {
  const Tensor sum = Tensor::empty({}, {.dtype = DType::f64, .backend = &gradients.backend()});
  gradients.backend().sum_of_squares(sum, gradients);
  return std::sqrt(sum.item());
}

/// Scales down, in place, each parameter's gradient whose norm times `scale` exceeds `limit`.
void clip_each(const ParameterArena& arena, double scale, double limit) {
  Backend& backend = arena.gradients().backend();
  const auto& segments = arena.segments();
  const auto count = static_cast<std::int64_t>(segments.size());
  const Tensor sums = Tensor::zeros({count}, {.dtype = DType::f64, .backend = &backend});
  const auto slice = [&](std::int64_t i) {
    const Segment& segment = segments[static_cast<std::size_t>(i)];
    return arena.gradients().view(segment.offset, {segment.count});
  };
  for (std::int64_t i = 0; i < count; ++i)
    if (!segments[static_cast<std::size_t>(i)].frozen) backend.sum_of_squares(sums.view(i, {}), slice(i));
  const std::vector<double> squares = sums.to_vector<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    const double norm = std::abs(scale) * std::sqrt(squares[static_cast<std::size_t>(i)]);
    const double factor = clip_factor(norm, limit);
    if (factor < 1.0) backend.unary(UnaryOp::affine, slice(i), slice(i), {.alpha = factor, .beta = 0.0});
  }
}

/// learning_rate / (1 + decay * iterations) in the form that all versions of Keras take: Keras 3 refuses the
/// key `decay`.
ConfigValue decaying_rate(double learning_rate, double decay) {
  return ConfigDict{{"module", "keras.optimizers.schedules"},
                    {"class_name", "InverseTimeDecay"},
                    {"config", ConfigDict{{"initial_learning_rate", learning_rate},
                                          {"decay_steps", 1},
                                          {"decay_rate", decay},
                                          {"staircase", false},
                                          {"name", ConfigValue()}}},
                    {"registered_name", ConfigValue()}};
}

}  // namespace

Optimizer::Optimizer(const Common& common) : common_(common), learning_rate_(common.learning_rate) {
  const ClipOptions& clip = common.clip;
  require<UsageError>(clip.norm >= 0 && clip.global_norm >= 0 && clip.value >= 0,
                      "[optimizer] a clip limit must not be negative: norm ", clip.norm, ", global_norm ",
                      clip.global_norm, ", value ", clip.value);
  require<UsageError>((clip.norm > 0) + (clip.global_norm > 0) + (clip.value > 0) <= 1,
                      "[optimizer] at most one of clip.norm, clip.global_norm and clip.value may be set");
  require<UsageError>(common.decay >= 0, "[optimizer] decay must not be negative, got ", common.decay);
}

void Optimizer::attach(ParameterArena& arena) {
  arena_ = &arena;
  iterations_ = 0;
}

ParameterArena& Optimizer::arena() const {
  require(arena_ != nullptr, "[optimizer] is not attached to an arena");
  return *arena_;
}

double Optimizer::current_learning_rate() const {
  return learning_rate_ / (1.0 + common_.decay * static_cast<double>(iterations_));
}

ConfigDict Optimizer::config() const {
  ConfigDict config{{"name", name()}};
  config.emplace_back("learning_rate", common_.decay == 0.0 ? ConfigValue(learning_rate_)
                                                            : decaying_rate(learning_rate_, common_.decay));
  const auto add_if_set = [&](const char* key, double value) {
    if (value != 0.0) config.emplace_back(key, value);
  };
  add_if_set("weight_decay", common_.weight_decay);
  add_if_set("clipnorm", common_.clip.norm);
  add_if_set("global_clipnorm", common_.clip.global_norm);
  add_if_set("clipvalue", common_.clip.value);
  return config;
}

void Optimizer::step(double scale) {
  ParameterArena& weights = arena();
  weights.complete_gradients();
  const Shape trainable{weights.trainable_size()};
  const Tensor gradients = weights.gradients().view(0, trainable);
  StepParams params{.learning_rate = current_learning_rate(),
                    .grad_scale = scale,
                    .clip_value = common_.clip.value,
                    .weight_decay = double{static_cast<float>(common_.weight_decay)}};
  if (common_.clip.global_norm > 0)
    params.grad_scale *= clip_factor(std::abs(scale) * global_norm(gradients), common_.clip.global_norm);
  if (common_.clip.norm > 0) clip_each(weights, scale, common_.clip.norm);
  update(weights.values().view(0, trainable), gradients, params);
  momentum_factor_ = 1.0;
  ++iterations_;
  weights.bump_version();
}

}  // namespace ronde::inline v0
