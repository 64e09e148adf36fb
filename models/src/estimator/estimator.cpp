#include <utility>

#include <ronde/core/clock.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/data/subset.h>
#include <ronde/distributed/communicator.h>
#include <ronde/models/latest_checkpoint.h>
#include <ronde/models/train_and_evaluate.h>

#include "estimator/evaluating_checkpoint.h"
#include "messages/warn.h"

namespace ronde::inline v0 {

struct Estimator::State {
  Model* model = nullptr;
  RunConfig config;
  std::string latest;
  bool goes_on = false;  // with a checkpoint, or with an earlier call of train
  double pause_seconds = 0.0;

  std::string pattern() const;
  std::string find_latest() const;
  std::string file_to_resume() const;
  History train(const TrainSpec& spec, const EvaluationPace& pace, const std::function<void()>& evaluate);
  EvalResult evaluate(const EvalSpec& spec) const;
};

std::string Estimator::State::pattern() const {
  const std::string& name = config.checkpoint_pattern;
  return config.model_dir.empty() || name.starts_with("/") ? name : config.model_dir + "/" + name;
}

/// On rank 0.
std::string Estimator::State::find_latest() const {
  const LatestCheckpoint found = ronde::latest_checkpoint(pattern());
  for (const std::string& line : found.skipped) warn_or_print(config.warn, cat(line, ": passed over"));
  return found.path;
}

std::string Estimator::State::file_to_resume() const {
  if (config.resume != "auto") return config.resume;
  std::string path;
  collectively(model->communicator(), [&] {
    if (model->communicator().rank() == 0) path = find_latest();
  });
  return broadcast_string(model->communicator(), path);
}

History Estimator::State::train(const TrainSpec& spec, const EvaluationPace& pace,
                                const std::function<void()>& evaluate) {
  require<UsageError>(spec.data != nullptr && spec.max_steps >= 1,
                      "[estimator] a TrainSpec needs data and max_steps, got ", spec.max_steps);
  if (goes_on && model->progress().steps >= spec.max_steps) return {};
  EvaluatingCheckpoint files({.filepath = pattern(),
                              .verbose = config.verbose,
                              .save_steps = config.save_checkpoints_steps,
                              .mtbf_seconds = config.mtbf_seconds,
                              .save_last = true,
                              .keep = config.keep_checkpoint_max},
                             pace, evaluate);
  FitOptions fit = spec.fit;
  fit.epochs = spec.max_steps;  // more than enough
  fit.max_steps = spec.max_steps;
  fit.validation = nullptr;
  fit.resume = goes_on;
  fit.callbacks.push_back(&files);
  History history = model->fit(*spec.data, fit);
  goes_on = true;
  pause_seconds += files.total_pause_seconds();
  if (!files.last_path().empty()) latest = files.last_path();
  return history;
}

EvalResult Estimator::State::evaluate(const EvalSpec& spec) const {
  require<UsageError>(spec.data != nullptr, "[estimator] an EvalSpec needs data");
  const std::int64_t size = spec.data->size();
  const std::int64_t of_all_ranks =
      product_or_most<std::int64_t>(spec.batch_size, model->communicator().size());
  const std::int64_t wanted = spec.steps > 0 ? product_or_most(spec.steps, of_all_ranks) : size;
  const double begin = steady_seconds();
  EvalResult result{.steps = model->progress().steps,
                    .evaluation = model->evaluate(subset(*spec.data, wanted), spec.batch_size)};
  result.seconds = steady_seconds() - begin;
  if (spec.on_result) spec.on_result(result);
  return result;
}

Estimator::Estimator(Model& model, RunConfig config) : state_(std::make_unique<State>()) {
  require<UsageError>(model.is_compiled(), "[estimator] the model is not compiled");
  state_->model = &model;
  state_->config = std::move(config);
  const std::string file = state_->file_to_resume();
  if (file.empty()) return;
  model.load_weights(file);
  state_->latest = file;
  state_->goes_on = true;
}

Estimator::~Estimator() = default;

History Estimator::train(const TrainSpec& spec) {
  return state_->train(spec, {}, {});
}

EvalResult Estimator::evaluate(const EvalSpec& spec) {
  require<UsageError>(state_->goes_on, "[estimator] nothing to evaluate: ", state_->pattern(),
                      " names no checkpoint, and nothing was trained");
  return state_->evaluate(spec);
}

void Estimator::predict(const Dataset& data, const PredictOptions& options,
                        const std::function<void(const Prediction&)>& use) {
  predict_samples(*state_->model, data, options, use);
}

Model& Estimator::model() {
  return *state_->model;
}
const RunConfig& Estimator::config() const {
  return state_->config;
}
const std::string& Estimator::latest_checkpoint() const {
  return state_->latest;
}
double Estimator::pause_seconds() const {
  return state_->pause_seconds;
}

TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& training,
                                          const EvalSpec& evaluation) {
  require<UsageError>(evaluation.data != nullptr, "[estimator] an EvalSpec needs data");
  TrainAndEvaluateResult result;
  const auto evaluate = [&] { result.evaluations.push_back(estimator.state_->evaluate(evaluation)); };
  result.history =
      estimator.state_->train(training, {evaluation.start_delay_secs, evaluation.throttle_secs}, evaluate);
  evaluate();
  return result;
}

}  // namespace ronde::inline v0
