#pragma once

#include <memory>
#include <vector>

#include <ronde/models/model.h>

namespace ronde::inline v0 {

struct Model::State {
  std::unique_ptr<Module> owned_module;
  Module* module = nullptr;
  ModelOptions options;
  std::unique_ptr<Communicator> owned_communicator;
  Communicator* communicator = nullptr;
  std::unique_ptr<ParameterArena> arena;

  // After compile:
  std::unique_ptr<DistributedOptimizer> optimizer;
  std::unique_ptr<Loss> loss;
  std::vector<std::shared_ptr<Metric>> metrics;

  TrainingProgress progress;
  bool stop = false;

  Context context(bool training, const Tensor& sample_keys) const {
    return {.training = training, .seed = options.seed, .sample_keys = sample_keys};
  }
  Backend& backend() const { return arena->values().backend(); }
};

}  // namespace ronde::inline v0
