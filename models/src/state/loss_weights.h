/// Factors of samples, in the loss and in metrics that see them: by class, by sample, or both.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ronde/core/variable.h>
#include <ronde/models/class_weights.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct LossWeights {
  Tensor of_classes = {};  ///< as `class_table` makes it; undefined: all are 1
  Tensor of_samples = {};  ///< (samples of the data set, 1); undefined: all are 1
  Tensor of_batch = {};    ///< (n, 1), of samples that are in no data set; undefined: all are 1
};

/// While one lives these are in `place`, instead of what was there.
class LossWeightsInUse {
 public:
  LossWeightsInUse(LossWeights& place, LossWeights weights)
      : place_(place), before_(std::exchange(place, std::move(weights))) {}
  ~LossWeightsInUse() { place_ = std::move(before_); }
  LossWeightsInUse(const LossWeightsInUse&) = delete;
  LossWeightsInUse& operator=(const LossWeightsInUse&) = delete;

 private:
  LossWeights& place_;
  LossWeights before_;
};

/// A UsageError that names `what` for a weight that is negative or not finite, for a class that the outputs
/// of a sample do not have (those of one output may be any small number), and for a net with several outputs.
void check_class_weights(const std::string& what, const ClassWeights& weights, const Module& net);
/// A UsageError that names `what` for a weight that is negative or not finite, or another number of them than
/// there are samples, if there are any.
void check_sample_weights(const std::string& what, const std::vector<double>& weights, std::int64_t samples);

/// (weights, 1); undefined without any.
Tensor weight_table(const std::vector<double>& weights, const TensorOptions& options);

/// (classes, 1): of class -1, 0, ... up to one behind the last that is named; undefined without any. Others
/// weigh what the first and the last do, which is 1.
Tensor class_table(const ClassWeights& weights, const TensorOptions& options);

/// Of each sample, (n); undefined when all are 1. `targets` are labels, or a row of shares for each sample;
/// the first column of `sample_keys` says which samples they are.
Tensor weights_of_samples(const LossWeights& weights, const Shape& outputs, const Tensor& targets,
                          const Tensor& sample_keys);

/// The sum of `losses` (n), each times its weight.
Variable weighted_sum(const Variable& losses, const Tensor& weights);

}  // namespace ronde::inline v0
