/// What the losses begin and end with.
#pragma once

#include <string>

#include <ronde/core/variable.h>

#include "module/precise.h"

namespace ronde::inline v0 {

inline constexpr double kLossEpsilon = 1e-7;  // Keras' epsilon()

/// Output and target of one shape and dtype.
struct LossOperands {
  Variable output;
  Variable target;
};

/// Targets (n, ...) are taken for (n, ..., 1) where the outputs are; an Error that names the loss when shapes
/// differ.
LossOperands loss_operands(const std::string& loss, const Variable& output, const Tensor& target);

/// The mean over the axes of each sample, (n).
Variable mean_of_samples(const Variable& values);

}  // namespace ronde::inline v0
