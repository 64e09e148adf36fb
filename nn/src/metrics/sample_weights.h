/// How often each sample counts.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/core/tensor.h>

#include "losses/targets.h"

namespace ronde::inline v0 {

/// An Error that names `what` unless there is one for each sample of outputs (n, ...).
inline void check_weights_shape(const std::string& what, const Tensor& weights, const Shape& outputs) {
  require(weights.shape() == Shape{outputs[0]}, "[", what, "] expects weights ", Shape{outputs[0]},
          " for outputs ", outputs, ", got ", weights.shape());
}

/// Of each row of outputs (n, ..., k) or (n), that of its sample; all 1 where `weights` is undefined. Waits
/// for the device.
inline std::vector<double> weights_of_rows(const std::string& what, const Tensor& weights,
                                           const Shape& outputs) {
  const std::int64_t rows = outputs.rank() > 1 ? rows_of(outputs)[0] : outputs.count();
  std::vector<double> of_rows(static_cast<std::size_t>(rows), 1.0);
  if (!weights.defined() || of_rows.empty()) return of_rows;
  check_weights_shape(what, weights, outputs);
  const std::vector<double> of_samples = weights.to_vector<double>();
  const std::size_t positions = of_rows.size() / of_samples.size();
  for (std::size_t row = 0; row < of_rows.size(); ++row) of_rows[row] = of_samples[row / positions];
  return of_rows;
}

}  // namespace ronde::inline v0
