#include "backend/onednn/norm_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ronde::inline v0 {

namespace {

// Elements that stay in the first level cache between the norm and the activation.
constexpr std::int64_t kMapped = 4096;

// What the kernels take at a time, if rows are shorter.
constexpr std::int64_t kLeastWidth = 256;

}  // namespace

bool NormMap::takes(const Kernels& kernels, UnaryStage activation) {
  return activation.is_relu() ||
         kernels.has_unary(activation.op, static_cast<float>(activation.params.alpha));
}

bool NormMap::takes_gradient(UnaryStage activation) {
  switch (activation.op) {
    case UnaryOp::leaky_relu:
    case UnaryOp::elu:
    case UnaryOp::gelu:
    case UnaryOp::silu:
      return true;
    default:
      return activation.is_relu() || activation.changes_nothing();
  }
}

NormMap::NormMap(Backend& backend, const Kernels& kernels, const NormTensors& tensors, BatchNormParams params,
                 UnaryStage activation)
    : kernels_(kernels),
      variance_(tensors.variance),
      params_(params),
      activation_(activation),
      has_other_activation_(!activation.is_relu() && !activation.changes_nothing()),
      channels_(tensors.mean.count()),
      width_(channels_ * std::max<std::int64_t>(kLeastWidth / std::max<std::int64_t>(channels_, 1), 1)),
      scratch_(backend, 3 * width_) {
  float *center = scratch_.data(), *scale = center + width_, *shift = scale + width_;
  std::copy_n(tensors.mean.data<float>(), channels_, center);
  for (std::int64_t i = 0; i < channels_; ++i) {
    const double factor = tensors.gamma.defined() ? static_cast<double>(tensors.gamma.data<float>()[i]) : 1.0;
    scale[i] = static_cast<float>(factor * inverse_deviation(i));
    shift[i] = tensors.beta.defined() ? tensors.beta.data<float>()[i] : 0.0f;
  }
  for (float* columns : {center, scale, shift}) repeat(columns);
  columns_ = {.center = center,
              .scale = scale,
              .shift = shift,
              .least = activation.is_relu() ? 0.0f : -std::numeric_limits<float>::infinity(),
              .highest = static_cast<float>(activation.highest())};
}

void NormMap::repeat(float* columns) const {
  for (std::int64_t i = channels_; i < width_; i += channels_) std::copy_n(columns, channels_, columns + i);
}

double NormMap::inverse_deviation(std::int64_t channel) const {
  return 1 / std::sqrt(static_cast<double>(variance_.data<float>()[channel]) + params_.epsilon);
}

void NormMap::operator()(float* out, const float* x, std::int64_t rows, const float* addend) const {
  if (!has_other_activation_) return kernels_.map_columns(out, x, addend, columns_, rows * channels_, width_);
  const std::int64_t most = std::max<std::int64_t>(kMapped / channels_, 1);
  for (std::int64_t row = 0; row < rows; row += most) {
    const std::int64_t some = std::min(most, rows - row);
    float* to = out + row * channels_;
    kernels_.map_columns(to, x + row * channels_, nullptr, columns_, some * channels_, width_);
    activate(to, some * channels_);
  }
}

void NormMap::operator()(float* y, std::int64_t rows, std::int64_t pitch, std::int64_t first,
                         std::int64_t count) const {
  if (count == channels_ && pitch == channels_) return (*this)(y, y, rows);
  ColumnMap some = columns_;
  some.center += first;
  some.scale += first;
  some.shift += first;
  for (std::int64_t row = 0; row < rows; ++row, y += pitch) {
    kernels_.map_columns(y, y, nullptr, some, count, count);
    if (has_other_activation_) activate(y, count);
  }
}

void NormMap::activate(float* y, std::int64_t n) const {
  const auto [alpha, beta] = activation_.params;
  kernels_.unary(activation_.op, y, y, n, static_cast<float>(alpha), static_cast<float>(beta));
}

void NormMap::activation_backward(float* grad_norm, float* norm, const float* grad_out, const float* x,
                                  std::int64_t rows) const {
  const auto [alpha, beta] = activation_.params;
  kernels_.map_columns(norm, x, nullptr, columns_, rows * channels_, width_);
  kernels_.unary_backward(activation_.op, grad_norm, grad_out, norm, nullptr, rows * channels_,
                          static_cast<float>(alpha), static_cast<float>(beta));
}

}  // namespace ronde::inline v0
