/// Recipe: a documented way of training, and what the options make of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ronde/nn/module.h>
#include <ronde/nn/optimizer.h>

#include "common/train_options.h"

namespace ronde::apps {

struct Recipe {
  std::string name;
  std::unique_ptr<Module> (*make_net)() = nullptr;
  Shape input_shape;

  std::string optimizer;
  double learning_rate = 0.001;
  bool scale_lr = true;         ///< times the number of ranks
  std::int64_t batch_size = 0;  ///< of a rank
  std::int64_t epochs = 0;
  std::int64_t shared_steps = 0;    ///< an epoch's steps: this number // ranks; 0: one pass over the data
  bool validate_each_epoch = true;  ///< on the test data

  std::string best_checkpoint =
      {};                       ///< file of the best val_loss, which is evaluated at the end; empty: none
  std::int64_t save_steps = 0;  ///< 0: off
  std::int64_t keep = 5;        ///< of the files that save_steps writes
  bool prints_predictions = false;
};

/// All numbers settled.
struct TrainPlan {
  std::int64_t global_batch = 0;
  std::int64_t epochs = 0;
  std::int64_t steps_per_epoch = 0;  ///< 0: one pass over the data
  bool repeat = false;               ///< steps run across passes
  std::string optimizer;
  double base_learning_rate = 0.0;
  double learning_rate = 0.0;  ///< scaled
  std::int64_t save_steps = 0;
  std::int64_t keep = 0;
};

TrainPlan make_plan(const Recipe& recipe, const TrainOptions& options, int world_size);

/// "adam" with Keras' defaults and this rate.
std::unique_ptr<Optimizer> make_optimizer(const std::string& name, double learning_rate);
/// The rate that goes with an optimizer when neither a recipe nor an option gives one.
double default_learning_rate(const std::string& optimizer);

}  // namespace ronde::apps
