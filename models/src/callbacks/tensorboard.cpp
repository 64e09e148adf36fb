#include <ronde/models/tensorboard.h>

#include <ronde/core/clock.h>

#include "callbacks/learning_rate.h"
#include "json/json.h"
#include "messages/warn.h"
#include "tensorboard/orphans.h"
#include "tensorboard/sample_images.h"
#include "weights/keras_config.h"

namespace ronde::inline v0 {

TensorBoard::TensorBoard(TensorBoardOptions options) : options_(std::move(options)) {
  require<UsageError>(options_.histogram_freq >= 0 && options_.update_freq >= 0 && options_.sample_count >= 0,
                      "[tensorboard] histogram_freq, update_freq and sample_count must not be negative, got ",
                      options_.histogram_freq, ", ", options_.update_freq, " and ", options_.sample_count);
}

TensorBoard::~TensorBoard() = default;

void TensorBoard::on_train_begin(Model& model, const TrainingPlan&) {
  collectively(model.communicator(), [&] {
    if (is_main_rank()) open();
  });
}

void TensorBoard::open() {
  const std::string train = options_.log_dir + "/train", validation = options_.log_dir + "/validation";
  const std::int64_t steps = model().progress().steps;
  const std::int64_t iterations = model().optimizer().iterations();
  if (plan().resumed)
    for (const std::string& directory : {train, validation})
      drop_orphans(directory, {.epoch = plan().initial_epoch, .steps = steps, .iterations = iterations});
  train_ = std::make_unique<SummaryWriter>(train);
  if (plan().has_validation) validation_ = std::make_unique<SummaryWriter>(validation);
  if (plan().resumed) {
    // A TensorBoard that is running has read the orphans already. It forgets by step, whatever the tag, so
    // where a file has epochs and steps it must be the step.
    train_->restart(options_.update_freq > 0 ? steps + 1 : plan().initial_epoch);
    if (validation_) validation_->restart(iterations + 1);
  }
  write_beginning();
  flush();
}

void TensorBoard::write_beginning() {
  if (options_.write_graph)
    if (const ConfigValue config = model_config(model().module()); !config.is_null())
      train_->keras_model("keras", to_json(config), 0);
  if (!options_.sample_images) return;
  const std::vector<Tensor> pictures = sample_images(*options_.sample_images, options_.sample_count);
  for (std::size_t i = 0; i < pictures.size(); ++i) train_->image(cat("samples/", i), pictures[i], 0);
}

bool TensorBoard::is_due_after_step() const {
  return train_ && options_.update_freq > 0 && model().progress().steps % options_.update_freq == 0;
}

bool TensorBoard::wants_batch_logs() const {
  return is_due_after_step();
}

void TensorBoard::on_train_batch_begin(std::int64_t) {
  batch_start_ = steady_seconds();
}

void TensorBoard::on_train_batch_end(std::int64_t, const Logs& logs) {
  if (!is_due_after_step()) return;
  const std::int64_t step = model().progress().steps;
  for (const auto& [name, value] : logs.entries()) train_->scalar("batch_" + name, value, step);
  train_->scalar(cat("batch_", kLearningRateKey), model().optimizer().current_learning_rate(), step);
  if (options_.write_steps_per_second)
    train_->scalar("batch_steps_per_second", 1.0 / (steady_seconds() - batch_start_), step);
}

void TensorBoard::on_test_end(const Logs& logs) {
  if (!validation_) return;
  for (const auto& [name, value] : logs.entries())
    validation_->scalar(cat("evaluation_", name, "_vs_iterations"), value, model().optimizer().iterations());
}

void TensorBoard::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (!train_) return;
  write_epoch(epoch, logs);
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) write_weights(epoch);
  try_to_flush();
}

void TensorBoard::write_epoch(std::int64_t epoch, const Logs& logs) {
  constexpr std::string_view kValidation = "val_";
  for (const auto& [name, value] : logs.entries()) {
    if (!name.starts_with(kValidation)) {
      if (name != kLearningRateKey) train_->scalar("epoch_" + name, value, epoch);
    } else if (validation_) {
      validation_->scalar("epoch_" + name.substr(kValidation.size()), value, epoch);
    }
  }
  const TrainingProgress& progress = model().progress();
  train_->scalar(cat("epoch_", kLearningRateKey), model().optimizer().current_learning_rate(), epoch);
  if (progress.epoch_images_per_second > 0)
    train_->scalar("epoch_images_per_second", progress.epoch_images_per_second, epoch);
  if (options_.write_steps_per_second && progress.epoch_seconds > 0)
    train_->scalar("epoch_steps_per_second",
                   static_cast<double>(progress.epoch_steps) / progress.epoch_seconds, epoch);
}

void TensorBoard::write_weights(std::int64_t epoch) {
  for (const Parameter& parameter : model().module().parameters())
    train_->histogram(parameter.name + "/histogram", parameter.variable.value(), epoch);
}

void TensorBoard::flush() {
  train_->flush();
  if (validation_) validation_->flush();
}

void TensorBoard::try_to_flush() {
  try {
    flush();
  } catch (const IoError& error) {
    warn_or_print(options_.warn, error.what());
  }
}

void TensorBoard::on_train_end(const Logs&) {
  if (train_) try_to_flush();
  train_.reset();
  validation_.reset();
}

}  // namespace ronde::inline v0
