#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/models/model.h>
#include <ronde/models/saved_model.h>

#include "state/loss_weights.h"

namespace ronde::inline v0 {

class Trainer;

struct Model::State {
  std::unique_ptr<Module> owned_module;
  Module* module = nullptr;
  ModelOptions options;
  std::unique_ptr<Communicator> owned_communicator;
  Communicator* communicator = nullptr;
  std::unique_ptr<ParameterArena> arena;

  // After compile (or `load`, which may leave out the optimizer):
  std::unique_ptr<DistributedOptimizer> optimizer;
  std::unique_ptr<Loss> loss;
  std::vector<std::shared_ptr<Metric>> metrics;  ///< a WeightedMetric for each that sees weights, last
  /// Theirs in logs: one that was there already has a number, as in Keras: recall, recall_1, recall_2; or, if
  /// it sees weights, a prefix: weighted_recall, weighted_recall_1.
  std::vector<std::string> metric_names;
  /// Why the model of a file is not trained on before it is compiled anew; empty: it may be.
  std::string untrainable;

  /// Takes over the loss and the metrics.
  void set_loss(CompileOptions& given);
  /// A UsageError for a model without optimizer, or one that would not be trained as its file says.
  void require_trainable(const char* verb) const;

  TrainingProgress progress;
  bool stop = false;
  /// Moving statistics were trained since they were averaged over the ranks last.
  bool statistics_differ = false;
  /// A `fit` has compared threads with cores; later ones need not say it again.
  bool told_of_crowding = false;
  /// What autotune found, for this optimizer; later ones need not look again. 0: nothing yet.
  int tuned_threads = 0;

  // Where a resumed `fit` goes on; the same on all ranks.
  Trainer* trainer = nullptr;         ///< while `fit` runs
  LossWeights loss_weights;           ///< of a `fit` or an update, while it runs
  std::optional<SavedRun> run;        ///< of the file loaded last or of the last `fit`
  bool has_optimizer_of_run = false;  ///< the optimizer's state is the run's too
  std::string source;                 ///< the file loaded last; empty: none

  Context context(bool training, const Tensor& sample_keys) const {
    Context context{.training = training, .seed = options.seed, .sample_keys = sample_keys};
    if (training && communicator->size() > 1)
      context.sum_over_ranks = [this](const Tensor& values) { communicator->allreduce(values).wait(); };
    return context;
  }
  Backend& backend() const { return arena->values().backend(); }
};

}  // namespace ronde::inline v0
