#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/nn/parameter_arena.h>

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kAlignment = 64;  // bytes

std::int64_t aligned(std::int64_t elements, DType dtype) {
  return round_up(elements, kAlignment / static_cast<std::int64_t>(size_of(dtype)));
}

/// Appends segments for `parameters` from element `offset` on; returns the end, aligned.
std::int64_t lay_out(const std::vector<Parameter>& parameters, bool frozen, std::int64_t offset, DType dtype,
                     std::vector<Segment>& segments) {
  for (const Parameter& parameter : parameters) {
    const Tensor& value = parameter.variable.value();
    segments.push_back({parameter.name, offset, value.count(), value.shape(), frozen,
                        parameter.sparse_gradient, frozen ? Regularizer() : parameter.regularizer});
    offset = aligned(offset + value.count(), dtype);
  }
  return offset;
}

TensorOptions common_options(const std::vector<Parameter>& parameters) {
  const Tensor& first = parameters.front().variable.value();
  for (const Parameter& parameter : parameters) {
    const Tensor& value = parameter.variable.value();
    require(is_floating(value.dtype()) && value.dtype() == first.dtype(), "[parameter_arena] ",
            parameter.name, " is ", value.dtype(), ", but ", parameters.front().name, " is ", first.dtype());
    require(&value.backend() == &first.backend(), "[parameter_arena] ", parameter.name, " is on backend ",
            value.backend().name(), ", but ", parameters.front().name, " on ", first.backend().name());
  }
  return first.options();
}

void require_like(const Tensor& flat, const Tensor& now, const char* what) {
  require(flat.shape() == now.shape() && flat.dtype() == now.dtype() && flat.is_contiguous() &&
              &flat.backend() == &now.backend(),
          "[parameter_arena] expects a dense buffer like ", now, " for ", what, ", got ", flat);
}

}  // namespace

ParameterArena::ParameterArena(Module& module, const std::optional<TensorOptions>& without_weights) {
  require(module.is_built(), "[parameter_arena] the module must be built first: call build(input shape)");
  const std::vector<Parameter> all = module.parameters();
  require(!all.empty() || without_weights, "[parameter_arena] the module has no weights");
  const TensorOptions options = all.empty() ? *without_weights : common_options(all);

  std::vector<Parameter> trainable, frozen, statistics;
  for (const Parameter& parameter : all)
    (!parameter.trainable                 ? statistics
     : parameter.variable.requires_grad() ? trainable
                                          : frozen)
        .push_back(parameter);
  std::reverse(trainable.begin(), trainable.end());

  trainable_size_ = lay_out(trainable, false, 0, options.dtype, segments_);
  size_ = lay_out(frozen, true, trainable_size_, options.dtype, segments_);
  const std::int64_t buffer_size = lay_out(statistics, true, 0, options.dtype, buffer_segments_);
  values_ = Tensor::zeros_once({size_ + kExtras}, options);
  // Who only predicts never writes to them, and use_gradients may put others in their place.
  gradients_ = Tensor::zeros_once({size_ + kExtras}, options);
  buffers_ = Tensor::zeros({buffer_size}, options);

  for (const auto* group : {&trainable, &frozen})
    for (const Parameter& parameter : *group) variables_.push_back(parameter.variable);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    variables_[i].bind(values_.view(segment.offset, segment.shape),
                       gradients_.view(segment.offset, segment.shape));
  }
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    const Segment& segment = buffer_segments_[i];
    statistics[i].variable.bind(buffers_.view(segment.offset, segment.shape), {});
  }
  rounded_ = values_.backend().keep_rounded(values_);
}

bool ParameterArena::is_regularized() const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [](const Segment& segment) { return !segment.regularizer.is_none(); });
}

std::string ParameterArena::lost_weight() const {
  for (std::size_t i = 0; i < segments_.size() && !segments_[i].frozen; ++i)
    if (!variables_[i].value().shares_storage_with(values_)) return segments_[i].name;
  return {};
}

Tensor ParameterArena::make_state() const {
  return Tensor::zeros({trainable_size_}, values_.options());
}

void ParameterArena::use_values(const Tensor& flat) {
  require_like(flat, values_, "values");
  flat.copy_from(values_);
  values_ = flat;
  for (std::size_t i = 0; i < segments_.size(); ++i)
    variables_[i].bind(values_.view(segments_[i].offset, segments_[i].shape), {});
  rounded_ = values_.backend().keep_rounded(values_);
  bump_version();
}

void ParameterArena::use_gradients(const Tensor& flat) {
  require_like(flat, gradients_, "gradients");
  gradients_ = flat;
  for (std::size_t i = 0; i < segments_.size(); ++i)
    variables_[i].bind_gradient(gradients_.view(segments_[i].offset, segments_[i].shape));
  complete_ = true;
}

void ParameterArena::zero_gradients() {
  for (const auto& hook : zero_hooks_) hook();
  for (Variable& variable : variables_) variable.zero_grad();
  complete_ = false;
}

void ParameterArena::complete_gradients() {
  if (complete_) return;
  complete_ = true;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    if (segment.frozen || variables_[i].grad().defined()) continue;
    gradients_.view(segment.offset, segment.shape).fill(0.0);
  }
}

}  // namespace ronde::inline v0
