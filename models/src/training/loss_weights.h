/// Factors of the losses of samples: by class, by sample, or both.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/variable.h>

namespace ronde::inline v0 {

struct LossWeights {
  Tensor of_classes = {};  ///< (classes, 1); undefined: all are 1
  Tensor of_samples = {};  ///< (samples of the data set, 1); undefined: all are 1
};

/// (weights, 1), undefined without any. A UsageError that names `what` for one that is negative or not
/// finite.
Tensor weight_table(const std::string& what, const std::vector<double>& weights,
                    const TensorOptions& options);
/// The same, of the samples of a data set; a UsageError for another number of them.
Tensor sample_weight_table(const std::string& what, const std::vector<double>& weights, std::int64_t samples,
                           const TensorOptions& options);

/// The sum of `losses` (n), each times its weights. `targets` are labels, or a row of shares for each sample;
/// the first column of `sample_keys` says which samples they are. A UsageError when there are not as many
/// weights as classes.
Variable weighted_sum(const Variable& losses, const LossWeights& weights, const Shape& outputs,
                      const Tensor& targets, const Tensor& sample_keys);

}  // namespace ronde::inline v0
