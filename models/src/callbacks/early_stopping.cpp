#include <ronde/models/early_stopping.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include <ronde/nn/weight_layout.h>

namespace ronde::inline v0 {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)), monitor_(options_.monitor, options_.mode, std::abs(options_.min_delta)) {}

void EarlyStopping::on_train_begin(Model&, const TrainingPlan& plan) {
  monitor_.begin(plan, "early_stopping");
  monitor_.set_best({});
  wait_ = 0;
  stopped_epoch_ = -1;
  best_epoch_ = 0;
  best_weights_.clear();
  left_other_weights_ = false;
}

void EarlyStopping::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (epoch < options_.start_from_epoch || !monitor_.is_due(plan(), epoch)) return;
  const double current = monitor_.value(logs, "early_stopping");
  if (options_.restore_best_weights && best_weights_.empty()) remember_weights(epoch);
  ++wait_;
  if (monitor_.improves(current)) {
    monitor_.set_best(current);
    best_epoch_ = epoch;
    if (options_.restore_best_weights) remember_weights(epoch);
    if (!options_.baseline || monitor_.better(current, *options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ < options_.patience || epoch == 0) return;
  stopped_epoch_ = epoch;
  model().stop_training();
}

void EarlyStopping::on_train_end(const Logs&) {
  if (stopped_epoch_ >= 0) say(cat("Epoch ", stopped_epoch_ + 1, ": early stopping\n"));
  if (best_weights_.empty()) return;
  say(cat("Restoring model weights from the end of the best epoch: ", best_epoch_ + 1, ".\n"));
  restore_weights();
}

void EarlyStopping::remember_weights(std::int64_t epoch) {
  best_epoch_ = epoch;
  best_weights_.clear();
  for (const Parameter& parameter : model().module().parameters())
    best_weights_.push_back({parameter.name, to_keras_layout(parameter)});
}

void EarlyStopping::restore_weights() {
  std::vector<Parameter> parameters = model().module().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor last = to_keras_layout(parameters[i]);
    assign_keras_layout(parameters[i], best_weights_[i].values);
    const Tensor now = to_keras_layout(parameters[i]);
    if (std::memcmp(now.raw(), last.raw(), now.byte_size()) != 0) left_other_weights_ = true;
  }
  model().arena().bump_version();
}

CallbackState EarlyStopping::state() const {
  return {{{"best", monitor_.saved_best()}, {"wait", wait_}, {"best_epoch", best_epoch_}}, best_weights_};
}

void EarlyStopping::restore(const CallbackState& state) {
  const ConfigValue values(state.values);
  monitor_.restore_best(values.at("best"));
  wait_ = values.at("wait").as_int();
  best_epoch_ = values.at("best_epoch").as_int();
  best_weights_.clear();
  if (!options_.restore_best_weights || state.tensors.empty()) return;
  const std::vector<Parameter> parameters = model().module().parameters();
  require<InputError>(state.tensors.size() == parameters.size(), "[early_stopping] the best weights are ",
                      state.tensors.size(), ", this net has ", parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const SavedWeight& saved = state.tensors[i];
    const Parameter& mine = parameters[i];
    require<InputError>(saved.name == mine.name && saved.values.shape() == keras_shape(mine),
                        "[early_stopping] the best weights have ", saved.name, " ", saved.values.shape(),
                        ", this net has ", mine.name, " ", keras_shape(mine));
    best_weights_.push_back(saved);
  }
}

void EarlyStopping::say(const std::string& message) const {
  if (options_.verbose > 0 && is_main_rank()) std::fputs(message.c_str(), stdout);
}

}  // namespace ronde::inline v0
