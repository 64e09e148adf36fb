#include <algorithm>
#include <cmath>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/trace.h>
#include <ronde/nn/optimizer.h>

#include "module/penalty.h"
#include "optimizers/schedule_config.h"

namespace ronde::inline v0 {

namespace {

/// What a gradient of this norm is multiplied with so that its norm is at most `limit`.
double clip_factor(double norm, double limit) {
  return norm > limit ? limit / norm : 1.0;
}

double sum_of_squares(const Tensor& gradients) {
  const Tensor sum = Tensor::empty({}, {.dtype = DType::f64, .backend = &gradients.backend()});
  gradients.backend().sum_of_squares(sum, gradients);
  return sum.item();
}

double global_norm(const ParameterArena& arena, const OptimizerPart& part) {
  std::vector<double> squares{0.0};
  for (const ArenaRange& range : part.ranges)
    squares[0] += sum_of_squares(arena.gradients().view(range.begin, {range.count()}));
  if (part.sum) part.sum(squares);
  return std::sqrt(squares[0]);
}

/// What of a segment lies in the part; at most one range, because these are cut from whole segments.
ArenaRange overlap(const Segment& segment, const OptimizerPart& part) {
  for (const ArenaRange& range : part.ranges) {
    const ArenaRange common{std::max(range.begin, segment.offset),
                            std::min(range.end, segment.offset + segment.count)};
    if (common.count() > 0) return common;
  }
  return {};
}

/// Scales down, in place, each parameter's gradient whose norm times `scale` exceeds `limit`.
void clip_each(const ParameterArena& arena, const OptimizerPart& part, double scale, double limit) {
  Backend& backend = arena.gradients().backend();
  std::vector<Tensor> slices;
  std::vector<double> squares;
  for (const Segment& segment : arena.segments()) {
    const ArenaRange range = segment.frozen ? ArenaRange() : overlap(segment, part);
    slices.push_back(arena.gradients().view(range.begin, {range.count()}));
    squares.push_back(range.count() > 0 ? sum_of_squares(slices.back()) : 0.0);
  }
  if (part.sum) part.sum(squares);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const double factor = clip_factor(std::abs(scale) * std::sqrt(squares[i]), limit);
    if (factor < 1.0 && slices[i].count() > 0)
      backend.unary(UnaryOp::affine, slices[i], slices[i], {.alpha = factor, .beta = 0.0});
  }
}

/// gradients += gradient of the penalties / scale, since `scale` multiplies what stands there.
void add_penalty_gradients(const ParameterArena& arena, const OptimizerPart& part, double scale) {
  if (!arena.is_regularized() || scale == 0.0) return;
  for (const Segment& segment : arena.segments()) {
    const ArenaRange range = segment.regularizer.is_none() ? ArenaRange() : overlap(segment, part);
    if (range.count() == 0) continue;
    add_penalty_gradient(arena.gradients().view(range.begin, {range.count()}),
                         arena.values().view(range.begin, {range.count()}), segment.regularizer, 1.0 / scale);
  }
}

}  // namespace

Optimizer::Optimizer(const Common& common) : common_(common), learning_rate_(common.learning_rate) {
  const ClipOptions& clip = common.clip;
  require<UsageError>(clip.norm >= 0 && clip.global_norm >= 0 && clip.value >= 0,
                      "[optimizer] a clip limit must not be negative: norm ", clip.norm, ", global_norm ",
                      clip.global_norm, ", value ", clip.value);
  require<UsageError>(
      (clip.norm > 0) + (clip.global_norm > 0) + (clip.value > 0) <= 1,
      "[optimizer] at most one of clip.norm, clip.global_norm and clip.value may be set, got ", clip.norm,
      ", ", clip.global_norm, " and ", clip.value);
  const auto check = [](const char* what, double value) {
    require<UsageError>(value >= 0 && std::isfinite(value), "[optimizer] ", what,
                        " must be a finite number and not negative, got ", value);
  };
  check("learning_rate", common.learning_rate);
  check("decay", common.decay);
  check("weight_decay", common.weight_decay);
}

void Optimizer::attach(ParameterArena& arena) {
  arena_ = &arena;
  part_ = given_part_.value_or(OptimizerPart{.ranges = {{0, arena.trainable_size()}}, .sum = {}});
  iterations_ = 0;
  is_averaged_ = false;
  average_ = moving_average_ ? make_state(kAverageSlot) : Tensor();
}

void Optimizer::restrict_to(OptimizerPart part) {
  given_part_ = std::move(part);
}

Tensor Optimizer::make_state(const std::string& slot, double value) const {
  if (part_.state) {
    const Tensor shared = part_.state(slot);
    for (const ArenaRange& range : part_.ranges)
      shared.view(part_.place(range.begin), {range.count()}).fill(value);
    return shared;
  }
  std::int64_t elements = 0;
  for (const ArenaRange& range : part_.ranges) elements += range.count();
  return Tensor::full({elements}, value, arena().values().options());
}

Tensor Optimizer::make_scratch() const {
  std::int64_t most = 0;
  for (const ArenaRange& range : part_.ranges) most = std::max(most, range.count());
  return Tensor::empty({most}, arena().values().options());
}

void Optimizer::scale_gradients(const Tensor& to, const Tensor& gradients, const StepParams& step) {
  Backend& backend = gradients.backend();
  backend.unary(UnaryOp::affine, to, gradients, {.alpha = step.grad_scale});
  if (step.clip_value > 0)
    backend.unary(UnaryOp::clamp, to, to, {.alpha = -step.clip_value, .beta = step.clip_value});
}

ParameterArena& Optimizer::arena() const {
  require(arena_ != nullptr, "[optimizer] is not attached to an arena");
  return *arena_;
}

double Optimizer::current_learning_rate() const {
  const auto updates = static_cast<double>(iterations_);
  return learning_rate_ * (schedule_ ? (*schedule_)(updates) : 1.0) / (1.0 + common_.decay * updates);
}

/// Keras 3 refuses the key `decay`, so learning_rate / (1 + decay * iterations) is a schedule too.
ConfigValue Optimizer::described_rate() const {
  if (common_.decay != 0.0)
    return keras_schedule("InverseTimeDecay", {{"initial_learning_rate", learning_rate_},
                                               {"decay_steps", 1},
                                               {"decay_rate", common_.decay},
                                               {"staircase", false}});
  const ConfigValue described = schedule_ ? keras_schedule(*schedule_, learning_rate_) : ConfigValue();
  return described.is_null() ? ConfigValue(learning_rate_) : described;
}

ConfigDict Optimizer::config() const {
  ConfigDict config{{"name", name()}, {"learning_rate", described_rate()}};
  const auto add_if_set = [&](const char* key, double value) {
    if (value != 0.0) config.emplace_back(key, value);
  };
  add_if_set("weight_decay", common_.weight_decay);
  add_if_set("clipnorm", common_.clip.norm);
  add_if_set("global_clipnorm", common_.clip.global_norm);
  add_if_set("clipvalue", common_.clip.value);
  for (auto& setting : moving_average_config()) config.push_back(std::move(setting));
  return config;
}

ConfigDict settings_of(const Optimizer& optimizer) {
  ConfigDict settings;
  if (optimizer.decay() != 0.0)
    settings = {{"decay_steps", 1}, {"decay_rate", optimizer.decay()}, {"staircase", false}};
  for (const ConfigDict& some : {optimizer.config(), optimizer.own_settings()})
    for (const auto& [key, value] : some)
      if (key != "learning_rate" && key != "name") settings.emplace_back(key, value);
  if (optimizer.schedule())
    for (const auto& [key, value] : optimizer.schedule()->config())
      settings.emplace_back(cat("schedule's ", key), value);
  return settings;
}

std::vector<Optimizer::Slice> Optimizer::slices() const {
  const ParameterArena& weights = arena();
  std::vector<Slice> slices;
  std::int64_t offset = 0;
  for (const ArenaRange& range : part_.ranges) {
    slices.push_back({weights.values().view(range.begin, {range.count()}),
                      weights.gradients().view(range.begin, {range.count()}),
                      part_.place ? part_.place(range.begin) : offset, range.begin});
    offset += range.count();
  }
  return slices;
}

void Optimizer::step(double scale) {
  ParameterArena& weights = arena();
  const std::string lost = weights.lost_weight();
  require<UsageError>(lost.empty(), "[optimizer] ", lost, " has gone to another arena or model, made of the ",
                      "same net later: of those only the last trains it (a model takes it back by compile)");
  keep_average();
  update_weights(scale);
  if (moving_average_) update_average();
  momentum_factor_ = 1.0;
  ++iterations_;
  if (moving_average_) overwrite_weights();
  weights.bump_version();
}

void Optimizer::update_weights(double scale) {
  const TraceScope scope("optimizer", "update weights");
  ParameterArena& weights = arena();
  weights.complete_gradients();
  add_penalty_gradients(weights, part_, scale);
  StepParams params{.learning_rate = current_learning_rate(),
                    .grad_scale = scale,
                    .clip_value = common_.clip.value,
                    .weight_decay = double{static_cast<float>(common_.weight_decay)}};
  if (common_.clip.global_norm > 0)
    params.grad_scale *= clip_factor(std::abs(scale) * global_norm(weights, part_), common_.clip.global_norm);
  if (common_.clip.norm > 0) clip_each(weights, part_, scale, common_.clip.norm);
  for (const Slice& slice : slices()) update(slice, params);
}

}  // namespace ronde::inline v0
