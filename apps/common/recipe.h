/// Recipe: a documented way of training, and what the options make of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/data/augmentation.h>
#include <ronde/data/dataset.h>
#include <ronde/data/test_time_views.h>
#include <ronde/models/callback.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/module.h>
#include <ronde/nn/optimizer.h>

#include "common/train_options.h"

namespace ronde::apps {

/// In the sense of Estimator: train, and now and then evaluate what was saved (train_and_evaluate.h).
struct EvaluationPace {
  double start_delay_secs = 0.0;
  double throttle_secs = 60.0;
};

/// What a recipe's own optimizer is made for.
struct OptimizerNeeds {
  double learning_rate = 0.0;
  ClipOptions clip = {};
  std::int64_t total_steps = 0;
  std::int64_t steps_per_epoch = 0;
};

struct Recipe {
  std::string name;
  std::unique_ptr<Module> (*make_net)() = nullptr;
  /// Of the built net, from the training data; nullptr: nothing. All ranks call it with the same data.
  void (*prepare_net)(Module& net, const Dataset& train) = nullptr;
  Shape input_shape;
  CrossentropyOptions loss = {};

  std::string optimizer;
  /// Of `optimizer`; nullptr: with Keras' defaults.
  std::unique_ptr<Optimizer> (*make_own_optimizer)(const OptimizerNeeds& needs) = nullptr;
  /// Of its own; nullptr: none.
  std::unique_ptr<Callback> (*make_callback)() = nullptr;
  double learning_rate = 0.001;
  bool scale_lr = true;           ///< times the number of ranks
  std::int64_t batch_size = 0;    ///< of a rank
  std::int64_t global_batch = 0;  ///< of all ranks, whatever their number, instead of batch_size; 0: none
  /// Samples that a rank computes at once, 0: its batch; nullopt: what suits the device.
  std::optional<std::int64_t> micro_batch = {};
  std::int64_t epochs = 0;
  std::int64_t shared_steps =
      0;                     ///< an epoch's steps: this number, // ranks without global_batch; 0: one pass
  bool rank_passes = false;  ///< ceil(epochs / ranks) epochs, of one pass over the data for each rank
  bool validate_each_epoch = true;  ///< on the test data
  std::optional<Augment> augmentation = {};
  std::string augmentation_description = {};  ///< a line for the banner
  std::vector<TestTimeView> test_views = {};  ///< of the final test
  bool is_record = false;                     ///< what counts is the time to its accuracy, which is printed

  /// Files, in --dir. One without {epoch} holds the epoch of the best val_loss, which is tested at the end.
  std::string checkpoint = {};   ///< after each epoch; empty: none
  std::int64_t save_steps = 0;   ///< 0: off
  std::int64_t keep = 5;         ///< of the files that save_steps writes
  std::string saved_model = {};  ///< at the end; empty: none
  std::int64_t shown_predictions = 0;
  std::optional<EvaluationPace> estimator = {};
};

/// All numbers settled.
struct TrainPlan {
  std::int64_t global_batch = 0;
  std::int64_t epochs = 0;
  std::int64_t steps_per_epoch = 0;  ///< 0: `passes` passes over the data
  std::int64_t passes = 1;
  bool repeat = false;  ///< steps run across passes
  std::string optimizer;
  double base_learning_rate = 0.0;
  double learning_rate = 0.0;  ///< scaled
  double clip_norm = 0.0;      ///< of the whole gradient; 0: none
  std::int64_t save_steps = 0;
  double mtbf = 0.0;             ///< seconds, when it decides instead of save_steps; else 0
  std::int64_t keep_epochs = 0;  ///< files of epochs; 0: all
  std::int64_t keep_steps = 0;   ///< files of save_steps
};

TrainPlan make_plan(const Recipe& recipe, const TrainOptions& options, int world_size);

/// The plan's, for so many training samples.
std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe, const TrainPlan& plan, std::int64_t samples);
/// The rate that goes with an optimizer when neither a recipe nor an option gives one.
double default_learning_rate(const std::string& optimizer);

}  // namespace ronde::apps
