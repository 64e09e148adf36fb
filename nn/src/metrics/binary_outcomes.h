/// Yes or no, right or wrong.
#pragma once

#include <string>

#include <ronde/nn/binary_metrics.h>

namespace ronde::inline v0 {

/// An Error that names the metric when the target has neither the output's shape nor is (n, ...) for outputs
/// (n, ..., 1), or when there is no such class, or not a weight for each sample. Waits for the device.
/// `weights` may be undefined.
BinaryOutcomes count_outcomes(const std::string& metric, const Tensor& output, const Tensor& target,
                              const Tensor& weights, const PrecisionOptions& options);

}  // namespace ronde::inline v0
