/// A batch norm with given statistics and the activation behind it, as the kernels make them.
#pragma once

#include <ronde/core/kernel_params.h>
#include <ronde/core/tensor.h>

#include "backend/cpu/scratch.h"
#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {

/// Of the batch: f32 and dense, gamma and beta optional.
struct NormTensors {
  const Tensor &mean, &variance, &gamma, &beta;
};

class NormMap {
 public:
  NormMap(Backend& backend, const Kernels& kernels, const NormTensors& tensors, BatchNormParams params,
          UnaryStage activation);
  /// Whether kernels have the activation, and its gradient of what it got.
  static bool takes(const Kernels& kernels, UnaryStage activation);
  static bool takes_gradient(UnaryStage activation);

  /// What the kernels of columns do: all of it, but for an activation that is no relu.
  const ColumnMap& columns() const { return columns_; }
  bool has_other_activation() const { return has_other_activation_; }
  std::int64_t channels() const { return channels_; }
  /// Of the kernels' columns: those of a few rows, one row behind the other.
  std::int64_t width() const { return width_; }
  /// Makes so many of the first row's.
  void repeat(float* columns) const;
  /// 1 / sqrt(variance + epsilon)
  double inverse_deviation(std::int64_t channel) const;

  /// out = activation(norm of x), of rows that lie one behind the other; may be made in place. `addend`,
  /// which may be null, is added in front of an activation that is a relu or nothing.
  void operator()(float* out, const float* x, std::int64_t rows, const float* addend = nullptr) const;
  /// The same in place, of `count` channels from `first` on in rows that lie `pitch` elements apart.
  void operator()(float* y, std::int64_t rows, std::int64_t pitch, std::int64_t first,
                  std::int64_t count) const;
  /// grad_norm = the gradient in front of an activation that is no relu; may be grad_out. `norm`: room for
  /// what the activation got.
  void activation_backward(float* grad_norm, float* norm, const float* grad_out, const float* x,
                           std::int64_t rows) const;

 private:
  void activate(float* y, std::int64_t n) const;

  const Kernels& kernels_;
  const Tensor& variance_;
  BatchNormParams params_;
  UnaryStage activation_;
  bool has_other_activation_;
  std::int64_t channels_, width_;
  Scratch<float> scratch_;
  ColumnMap columns_;
};

}  // namespace ronde::inline v0
