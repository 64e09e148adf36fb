/// train_and_evaluate: training by number of steps that looks after itself, in the sense of Estimator. It
/// saves as it goes, goes on where the directory's last checkpoint stopped, and evaluates now and then.
///
///     Estimator estimator(model, {.model_dir = "out", .save_checkpoints_steps = 100});
///     train_and_evaluate(estimator, {.data = &train, .max_steps = 9380, .fit = {.batch_size = 64}},
///                        {.data = &test, .throttle_secs = 60});
///     estimator.predict(test, {.count = 10}, [](const Prediction& p) { ... });
///
/// Started again, the same program goes on after the last checkpoint, and with all steps done it only
/// evaluates; with a larger max_steps it trains further. Either way the weights are those of one
/// uninterrupted run, bit for bit.
///
/// The model must be compiled and outlive the Estimator. Constructor, train and evaluate are collective;
/// rank 0 reads and writes files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ronde/models/model.h>
#include <ronde/models/predict_samples.h>

namespace ronde::inline v0 {

/// Names and defaults are those of Estimator's RunConfig.
struct RunConfig {
  std::string model_dir = {};               ///< made if missing
  std::int64_t save_checkpoints_steps = 0;  ///< 0: after each epoch; always: after the last step
  /// Instead of it: ModelCheckpointOptions::mtbf_seconds.
  double mtbf_seconds = 0.0;
  std::int64_t keep_checkpoint_max = 5;  ///< 0: all
  /// "auto": the latest good checkpoint in model_dir, if there is one; a file; or "": a new training.
  std::string resume = "auto";
  /// With fields {epoch} and, when saving by steps, {batch}; in model_dir unless absolute.
  std::string checkpoint_pattern = "model-{epoch:03d}-{batch:05d}.h5";
  int verbose = 0;  ///< 1: says on rank 0 what is saved
  /// As FitOptions::warn, of checkpoints that are passed over.
  std::function<void(const std::string& problem)> warn = {};
};

struct EvalSpec;
struct TrainAndEvaluateResult;

struct TrainSpec {
  const Dataset* data = nullptr;
  std::int64_t max_steps = 0;  ///< updates of the weights since training began, in this run and earlier ones
  /// Batch, steps of an epoch, augmentation, callbacks ...; epochs, validation and where to go on from are
  /// the Estimator's.
  FitOptions fit = {};
};

/// An evaluation of the weights after `steps` steps.
struct EvalResult {
  std::int64_t steps = 0;
  Evaluation evaluation;
  double seconds = 0.0;
};

struct EvalSpec {
  const Dataset* data = nullptr;
  std::int64_t batch_size = 128;    ///< of one rank
  std::int64_t steps = 0;           ///< batches; 0: all the data, once
  double start_delay_secs = 120.0;  ///< no evaluation before; but always one at the end
  double throttle_secs = 600.0;     ///< from one evaluation to the next, at least
  /// Called on all ranks after each evaluation.
  std::function<void(const EvalResult&)> on_result = {};
};

class RONDE_API Estimator {
 public:
  /// Loads the checkpoint to go on from. InputError when it is one of another net.
  Estimator(Model& model, RunConfig config);
  ~Estimator();

  /// Trains until spec.max_steps have been done in all; nothing when they have.
  History train(const TrainSpec& spec);
  /// On the weights as they are: those of the latest checkpoint.
  EvalResult evaluate(const EvalSpec& spec);
  /// See predict_samples.
  void predict(const Dataset& data, const PredictOptions& options,
               const std::function<void(const Prediction&)>& use);

  Model& model();
  const RunConfig& config() const;
  /// Of the weights as they are; empty when nothing was saved or loaded.
  const std::string& latest_checkpoint() const;
  /// For which training waited for checkpoints.
  double pause_seconds() const;

 private:
  friend RONDE_API TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& training,
                                                             const EvalSpec& evaluation);
  struct State;
  std::unique_ptr<State> state_;
};

struct TrainAndEvaluateResult {
  History history;
  std::vector<EvalResult> evaluations;  ///< of this call; the last one is of the final weights
};

/// Trains to the end, and evaluates after checkpoints, as often as `evaluation` allows, and at the end.
RONDE_API TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& training,
                                                    const EvalSpec& evaluation);

}  // namespace ronde::inline v0
