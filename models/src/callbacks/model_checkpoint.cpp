#include <ronde/models/model_checkpoint.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "callbacks/path_pattern.h"

namespace ronde::inline v0 {

namespace {

/// As Python's %.5f.
std::string five_places(double value) {
  std::array<char, 400> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.5f", value);
  return buffer.data();
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(ModelCheckpointOptions options)
    : options_(std::move(options)), monitor_(options_.monitor, options_.mode) {
  require<UsageError>(!options_.filepath.empty(), "[model_checkpoint] needs a filepath");
  require<UsageError>(options_.save_steps >= 0 && options_.keep >= 0,
                      "[model_checkpoint] save_steps and keep must not be negative");
  // Values within an epoch differ from rank to rank, and so would the decisions.
  require<UsageError>(
      options_.save_steps == 0 || !options_.save_best_only,
      "[model_checkpoint] the best is known only at the end of an epoch: save_best_only does not go "
      "with save_steps");
  pattern_needs_logs(options_.filepath);  // throws now what would be thrown after the first epoch
  monitor_.set_best(options_.initial_value_threshold);
}

void ModelCheckpoint::on_train_begin(Model&, const TrainingPlan& plan) {
  if (options_.save_best_only) monitor_.require_available(plan, "model_checkpoint");
}

void ModelCheckpoint::on_epoch_begin(std::int64_t epoch) {
  epoch_ = epoch;
}

bool ModelCheckpoint::due_after_step() const {
  return options_.save_steps > 0 && steps_since_save_ + 1 >= options_.save_steps;
}

bool ModelCheckpoint::wants_batch_logs() const {
  return due_after_step() && is_main_rank() && pattern_needs_logs(options_.filepath);
}

void ModelCheckpoint::on_train_batch_end(std::int64_t batch, const Logs& logs) {
  if (options_.save_steps == 0) return;
  const bool due = due_after_step();
  ++steps_since_save_;
  if (!due) return;
  steps_since_save_ = 0;
  Logs values = logs;
  values.set("batch", static_cast<double>(batch + 1));
  say(cat("\nEpoch ", epoch_ + 1, ": saving model to "));
  save(values);
}

void ModelCheckpoint::on_epoch_end(std::int64_t, Logs& logs) {
  if (options_.save_steps > 0) return;
  if (options_.save_best_only) {
    save_if_better(logs);
  } else {
    say(cat("\nEpoch ", epoch_ + 1, ": saving model to "));
    save(logs);
  }
}

void ModelCheckpoint::save_if_better(const Logs& logs) {
  const double current = monitor_.value(logs, "model_checkpoint");
  const std::string best = five_places(monitor_.best_or_infinity());
  const std::string begin = cat("\nEpoch ", epoch_ + 1, ": ", monitor_.key());
  if (!monitor_.improves(current)) {
    say(cat(begin, " did not improve from ", best, "\n"));
    return;
  }
  say(cat(begin, " improved from ", best, " to ", five_places(current), ", saving model to "));
  monitor_.set_best(current);
  save(logs);
}

void ModelCheckpoint::save(const Logs& logs) {
  // A step's logs are empty on all ranks but 0, which is the only one that needs the name.
  std::string path;
  collectively(model().communicator(), [&] {
    if (!is_main_rank()) return;
    path = format_pattern(options_.filepath, [&](const std::string& name) -> std::optional<PatternValue> {
      if (name == "epoch") return epoch_ + 1;
      const double* value = logs.find(name);
      if (value && name == "batch") return static_cast<std::int64_t>(*value);
      if (value) return *value;
      return {};
    });
    say(path + "\n");
  });
  path = broadcast_string(model().communicator(), path);
  if (options_.save_weights_only) {
    model().save_weights(path);
  } else {
    model().save(path);
  }
  last_path_ = path;
  if (options_.keep > 0) forget_old(path);
}

void ModelCheckpoint::forget_old(const std::string& path) {
  std::erase(kept_, path);
  kept_.push_back(path);
  collectively(model().communicator(), [&] {
    while (static_cast<std::int64_t>(kept_.size()) > options_.keep) {
      const std::string oldest = kept_.front();
      kept_.pop_front();
      if (is_main_rank() && ::unlink(oldest.c_str()) != 0 && errno != ENOENT)
        throw IoError(cat(oldest, ": cannot be deleted: ", std::strerror(errno)));
    }
  });
}

void ModelCheckpoint::say(const std::string& message) const {
  if (options_.verbose > 0 && is_main_rank()) std::fputs(message.c_str(), stdout);
}

}  // namespace ronde::inline v0
