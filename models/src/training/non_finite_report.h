/// Where NaN or infinity came from.
#pragma once

#include <string>

#include <ronde/data/data_loader.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

struct NonFiniteReport {
  int rank = 0;      ///< the first that has found something; 0 when none has
  std::string text;  ///< "rank 1: the loss of sample 17 of the data set is nan"
};

/// Collective. Each rank looks at its weights, then repeats the forward and backward pass of its part of the
/// step alone; what the gradients hold is lost, and moving statistics go on by one step.
NonFiniteReport find_non_finite(Model::State& model, const Batch& batch);
/// The same of this rank alone.
NonFiniteReport find_own_non_finite(Model::State& model, const Batch& batch);

}  // namespace ronde::inline v0
