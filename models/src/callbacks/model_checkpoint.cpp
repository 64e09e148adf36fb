#include <ronde/models/model_checkpoint.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <ronde/core/new_file.h>
#include <ronde/models/save_point.h>
#include <ronde/models/saved_model.h>

#include "callbacks/path_pattern.h"
#include "callbacks/save_interval.h"
#include "files/file_remover.h"
#include "files/wildcard.h"
#include "keras_file/model_ending.h"
#include "weights/keras_config.h"
#include "weights/named_weights_file.h"

namespace ronde::inline v0 {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Of the kind that the name's value will have.
std::optional<PatternValue> stand_in(const std::string& name) {
  if (name == "epoch" || name == "batch") return std::int64_t{1};
  return 1.0;
}

/// Those of the epochs to come, as far as their names are known and for the first of very many: better now
/// than after an epoch's work.
void require_replaceable_files(const std::string& pattern, const TrainingPlan& plan) {
  constexpr std::int64_t kLooks = 1000;
  if (pattern_needs_logs(pattern)) return;
  const std::int64_t looks = pattern.find('{') == std::string::npos ? 1 : kLooks;
  const std::int64_t end = std::min(plan.epochs, plan.initial_epoch + looks);
  for (std::int64_t epoch = plan.initial_epoch + 1; epoch <= end; ++epoch)
    require_replaceable(format_pattern(pattern, [&](const std::string&) { return epoch; }));
}

/// Whether it is a value that only a validation gives; a callback may add others called val_*.
bool is_of_validation(const std::string& name, const TrainingPlan& plan) {
  return name == "val_loss" || std::any_of(plan.metrics.begin(), plan.metrics.end(),
                                           [&](const auto& metric) { return name == "val_" + metric.first; });
}

/// Names that no file of this training could have: said now, not after an epoch's work.
void require_known_names(const std::string& pattern, const TrainingPlan& plan, bool after_epochs) {
  for (const std::string& name : names_in_pattern(pattern)) {
    require<UsageError>(name != "batch" || !after_epochs, "[model_checkpoint] ", pattern,
                        ": files of whole epochs have no batch; save_steps makes others");
    if (!is_of_validation(name, plan)) continue;
    require<UsageError>(plan.has_validation, "[model_checkpoint] ", pattern, ": names ", name,
                        ", but fit has no validation data");
    require<UsageError>(after_epochs, "[model_checkpoint] ", pattern, ": names ", name,
                        ", which is known only at the end of an epoch, but saves within epochs");
  }
}

/// As Python's %.5f.
std::string five_places(double value) {
  return formatted("%.5f", value);
}

std::string milliseconds(double seconds) {
  return formatted("%.1f ms", 1e3 * seconds);
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(ModelCheckpointOptions options)
    : options_(std::move(options)),
      monitor_(options_.monitor, options_.mode),
      remover_(std::make_unique<FileRemover>()) {
  require<UsageError>(!options_.filepath.empty(), "[model_checkpoint] needs a filepath");
  require<UsageError>(options_.save_steps >= 0 && options_.keep >= 0 && options_.keep_best >= 0,
                      "[model_checkpoint] save_steps, keep and keep_best must not be negative, got ",
                      options_.save_steps, ", ", options_.keep, " and ", options_.keep_best);
  require<UsageError>(
      options_.mtbf_seconds >= 0.0 && (options_.save_steps == 0 || options_.mtbf_seconds == 0.0),
      "[model_checkpoint] saves after save_steps steps, or as often as mtbf_seconds says, got ",
      options_.save_steps, " and ", options_.mtbf_seconds);
  if (options_.mtbf_seconds > 0.0) measured_ = std::make_unique<SaveInterval>(options_.mtbf_seconds);
  interval_ = measured_ ? kFirstSaveInterval : options_.save_steps;
  require<UsageError>(!is_named_weights_file(options_.filepath), "[model_checkpoint] ", options_.filepath,
                      ": checkpoints are files of Keras' (.h5, .keras, .weights.h5)");
  require_model_ending("model_checkpoint", options_.filepath);
  require<UsageError>(!options_.save_weights_only || layout_for(options_.filepath) != SavedLayout::archive,
                      "[model_checkpoint] ", options_.filepath,
                      ": a .keras file is a whole model; weights alone go into .weights.h5 or .h5");
  format_pattern(options_.filepath, stand_in);  // throws now what would be thrown after the first epoch
  monitor_.set_best(options_.initial_value_threshold);
}

ModelCheckpoint::~ModelCheckpoint() = default;

void ModelCheckpoint::on_train_begin(Model& model, const TrainingPlan& plan) {
  require_known_names(options_.filepath, plan, interval_ == 0);
  require_config_for("model_checkpoint", options_.filepath, model.module());
  collectively(model.communicator(), [&] {
    if (!is_main_rank()) return;
    delete_abandoned_files(options_.filepath);
    if (interval_ == 0) require_replaceable_files(options_.filepath, plan);
  });
  if (!monitors()) return;
  monitor_.begin(plan, "model_checkpoint");
  require<UsageError>(interval_ == 0 || !monitor_.key().starts_with("val_"), "[model_checkpoint] monitors ",
                      monitor_.key(),
                      ", which is known only at the end of an epoch, but saves within epochs");
}

void ModelCheckpoint::on_train_end(const Logs&) {
  remover_->wait();
  if (std::exchange(is_restored_, false)) forget_missing_files();
}

void ModelCheckpoint::on_train_batch_begin(std::int64_t) {
  if (measured_) measured_->begin_step();
}

void ModelCheckpoint::on_train_batch_end(std::int64_t, const Logs&) {
  ++steps_since_save_;
  if (measured_) measured_->end_step();
}

void ModelCheckpoint::choose_interval() {
  const Tensor steps = Tensor::from<std::int64_t>({1}, {measured_->next(interval_)});
  model().communicator().broadcast(steps).wait();
  interval_ = steps.to_vector<std::int64_t>()[0];
}

bool ModelCheckpoint::is_due(const SavePoint& point) const {
  if (interval_ == 0 || point.ends_epoch()) return interval_ == 0 && point.ends_epoch();
  const std::int64_t steps = point.epoch() * plan().steps_per_epoch + point.batch() + 1;
  return steps_since_save_ >= interval_ || (options_.save_last && steps == plan().last_step);
}

void ModelCheckpoint::on_save_point(SavePoint& point) {
  if (!is_due(point)) return;
  if (steps_since_save_ >= interval_) steps_since_save_ = 0;  // not for save_last: the rhythm stays
  if (measured_) choose_interval();
  if (!has_values(point)) return;
  if (std::exchange(is_restored_, false)) forget_missing_files();
  const std::string begin = cat("\nEpoch ", point.epoch() + 1, ": ");
  if (!monitors()) return order(point, kNone, begin + "saving model to ");

  const double current = monitor_.value(point.logs(), "model_checkpoint");
  const std::string best = five_places(monitor_.best_or_infinity());
  const bool improves = monitor_.improves(current);
  if (improves) monitor_.set_best(current);
  if (options_.save_best_only && !improves)
    return say(cat(begin, monitor_.key(), " did not improve from ", best, "\n"));
  if (!options_.save_best_only && options_.keep == 0 && !is_among_best(current))
    return say(cat(begin, monitor_.key(), " is not among the best ", options_.keep_best, "\n"));
  order(point, current,
        improves ? cat(begin, monitor_.key(), " improved from ", best, " to ", five_places(current),
                       ", saving model to ")
                 : begin + "saving model to ");
}

/// Of the validations, what is monitored and what the path names.
bool ModelCheckpoint::has_values(const SavePoint& point) const {
  if (!point.ends_epoch() || plan().validates(point.epoch())) return true;
  const std::vector<std::string> names = names_in_pattern(options_.filepath);
  return std::none_of(names.begin(), names.end(),
                      [&](const std::string& name) { return is_of_validation(name, plan()); }) &&
         (!monitors() || monitor_.is_due(plan(), point.epoch()));
}

void ModelCheckpoint::order(SavePoint& point, double value, const std::string& message) {
  const std::string path = path_for(point);
  note_file(path, value);
  point.save({.path = path,
              .weights_only = options_.save_weights_only,
              .on_snapshot =
                  [this, text = message + path](double pause) {
                    last_pause_ = pause;
                    total_pause_ += pause;
                    if (measured_) measured_->add_pause(pause);
                    say(cat(text, " (paused for ", milliseconds(pause), ")\n"));
                  },
              .on_settled =
                  [this, path](const SaveOutcome& outcome) {
                    if (measured_ && outcome.written) measured_->add_write(outcome.write_seconds);
                    settle(path, outcome.written);
                  }});
}

/// Of a run that went on in another folder: they must not be the best in place of files that are there.
void ModelCheckpoint::forget_missing_files() {
  std::string found;
  std::error_code error;
  if (is_main_rank())
    for (const File& file : files_) found += std::filesystem::exists(file.path, error) ? 'x' : '-';
  found = broadcast_string(model().communicator(), found);
  auto mark = found.begin();
  std::erase_if(files_, [&](const File&) { return *mark++ == '-'; });
  if (!files_.empty()) last_path_ = files_.back().path;
}

/// As the newest.
void ModelCheckpoint::note_file(const std::string& path, double value) {
  std::erase_if(files_, [&](const File& file) { return file.path == path; });
  files_.push_back({path, value});
}

std::string ModelCheckpoint::path_for(SavePoint& point) {
  const Logs logs = pattern_needs_logs(options_.filepath) ? point.logs() : Logs();
  std::string path;
  collectively(model().communicator(), [&] {
    path = format_pattern(options_.filepath, [&](const std::string& name) -> std::optional<PatternValue> {
      if (name == "epoch") return point.epoch() + 1;
      if (name == "batch" && !point.ends_epoch()) return point.batch() + 1;
      if (const double* value = logs.find(name)) return *value;
      return {};
    });
  });
  return broadcast_string(model().communicator(), path);
}

void ModelCheckpoint::settle(const std::string& path, bool written) {
  if (!written) {
    std::erase_if(files_, [&](const File& file) { return file.path == path; });
    return;
  }
  last_path_ = path;
  std::vector<std::string> superfluous = take_superfluous();
  if (is_main_rank()) remover_->remove(std::move(superfluous));
}

/// Takes those out of the list that none of the two rules keeps; never the newest of all, which may be all
/// there is.
std::vector<std::string> ModelCheckpoint::take_superfluous() {
  std::vector<std::string> superfluous;
  if (options_.keep == 0 && options_.keep_best == 0) return superfluous;
  std::vector<File> by_value = files_;
  if (monitors())
    std::stable_sort(by_value.begin(), by_value.end(),
                     [&](const File& a, const File& b) { return monitor_.better(a.value, b.value); });
  const auto is_best = [&](const File& file) {
    const auto rank = std::find_if(by_value.begin(), by_value.end(),
                                   [&](const File& other) { return other.path == file.path; });
    return rank - by_value.begin() < options_.keep_best;
  };
  const auto count = static_cast<std::int64_t>(files_.size());
  std::vector<File> stay;
  for (std::int64_t i = 0; i < count; ++i) {
    File& file = files_[static_cast<std::size_t>(i)];
    if (count - i <= options_.keep || is_best(file))
      stay.push_back(std::move(file));
    else
      superfluous.push_back(std::move(file.path));
  }
  files_ = std::move(stay);
  return superfluous;
}

bool ModelCheckpoint::is_among_best(double value) const {
  const auto better = std::count_if(files_.begin(), files_.end(),
                                    [&](const File& file) { return !monitor_.better(value, file.value); });
  return better < options_.keep_best;
}

CallbackState ModelCheckpoint::state() const {
  ConfigList files;
  for (const File& file : files_) files.push_back(ConfigDict{{"path", file.path}, {"value", file.value}});
  return {.values = {{"best", monitor_.best() ? ConfigValue(*monitor_.best()) : ConfigValue()},
                     {"steps_since_save", steps_since_save_},
                     {"interval", interval_},
                     {"files", files}},
          .tensors = {}};
}

void ModelCheckpoint::restore(const CallbackState& state) {
  const ConfigValue values(state.values);
  const ConfigValue& best = values.at("best");
  monitor_.set_best(best.is_null() ? std::optional<double>() : best.as_double());
  steps_since_save_ = values.at("steps_since_save").as_int();
  // One that was given stays as it is given now.
  const ConfigValue* interval = measured_ ? values.find("interval") : nullptr;
  if (interval && interval->as_int() > 0) interval_ = interval->as_int();
  is_restored_ = true;
  files_.clear();
  for (const ConfigValue& file : values.at("files").as_list())
    if (const auto path = path_of_pattern(options_.filepath, file.at("path").as_string()))
      note_file(*path, file.at("value").as_double());
}

void ModelCheckpoint::say(const std::string& message) const {
  if (options_.verbose > 0 && is_main_rank()) std::fputs(message.c_str(), stdout);
}

}  // namespace ronde::inline v0
