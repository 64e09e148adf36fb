#include "common/recipe.h"

#include <algorithm>

#include <ronde/core/whole_numbers.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/rmsprop.h>
#include <ronde/nn/sgd.h>

namespace ronde::apps {
namespace {

std::int64_t global_batch(const Recipe& recipe, const TrainOptions& options, int world_size) {
  if (options.global_batch_size) return *options.global_batch_size;
  if (options.batch_size) return product_or_most<std::int64_t>(*options.batch_size, world_size);
  return recipe.global_batch > 0 ? recipe.global_batch : recipe.batch_size * world_size;
}

double rate_scale(const Recipe& recipe, const TrainOptions& options, int world_size) {
  const bool scales = options.scale_lr.empty() ? recipe.scale_lr : options.scale_lr == "linear";
  if (!scales) return 1.0;
  if (recipe.global_batch > 0)
    return static_cast<double>(global_batch(recipe, options, world_size)) /
           static_cast<double>(recipe.global_batch);
  if (options.global_batch_size)
    return static_cast<double>(*options.global_batch_size) / static_cast<double>(recipe.batch_size);
  return world_size;
}

double base_rate(const Recipe& recipe, const TrainOptions& options, const std::string& optimizer) {
  if (options.learning_rate) return *options.learning_rate;
  return optimizer == recipe.optimizer ? recipe.learning_rate : default_learning_rate(optimizer);
}

// How many ranks the recipe means: with --global-batch-size those whose batches make it up, so that a run
// does not depend on the ranks that share it.
std::int64_t recipe_ranks(const Recipe& recipe, const TrainOptions& options, int world_size) {
  if (!options.global_batch_size) return world_size;
  return std::max<std::int64_t>(1, *options.global_batch_size / recipe.batch_size);
}

// Epochs, their steps and passes.
void plan_length(const Recipe& recipe, const TrainOptions& options, int world_size, TrainPlan& plan) {
  plan.passes = recipe.rank_passes ? recipe_ranks(recipe, options, world_size) : 1;
  plan.epochs = options.epochs.value_or((recipe.epochs + plan.passes - 1) / plan.passes);
  plan.repeat = recipe.shared_steps > 0;
  const std::int64_t sharing_ranks = recipe.global_batch > 0 ? 1 : world_size;
  const std::int64_t recipe_steps =
      plan.repeat ? std::max<std::int64_t>(1, recipe.shared_steps / sharing_ranks) : 0;
  plan.steps_per_epoch = options.steps_per_epoch.value_or(recipe_steps);
}

OptimizerNeeds needs_of(const TrainPlan& plan, std::int64_t samples) {
  const std::int64_t pass = ceil_divide(samples, plan.global_batch);
  const std::int64_t steps = plan.steps_per_epoch > 0 ? plan.steps_per_epoch : pass * plan.passes;
  return {.learning_rate = plan.learning_rate,
          .clip = {.global_norm = plan.clip_norm},
          .total_steps = plan.epochs * steps,
          .steps_per_epoch = steps};
}

}  // namespace

TrainPlan make_plan(const Recipe& recipe, const TrainOptions& options, int world_size) {
  TrainPlan plan;
  plan.global_batch = global_batch(recipe, options, world_size);
  plan_length(recipe, options, world_size, plan);
  plan.optimizer = options.optimizer.empty() ? recipe.optimizer : options.optimizer;
  plan.base_learning_rate = base_rate(recipe, options, plan.optimizer);
  plan.learning_rate = plan.base_learning_rate * rate_scale(recipe, options, world_size);
  plan.clip_norm = options.clip_norm.value_or(0.0);
  plan.save_steps = options.save_steps.value_or(recipe.save_steps);
  if (options.save_steps == 0) plan.mtbf = options.mtbf.value_or(3600.0);
  plan.keep_epochs = options.keep.value_or(0);
  plan.keep_steps = options.keep.value_or(recipe.keep);
  return plan;
}

std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe, const TrainPlan& plan, std::int64_t samples) {
  const std::string& name = plan.optimizer;
  const double rate = plan.learning_rate;
  const ClipOptions clip{.global_norm = plan.clip_norm};
  if (name == recipe.optimizer && recipe.make_own_optimizer != nullptr)
    return recipe.make_own_optimizer(needs_of(plan, samples));
  if (name == "adadelta")
    return std::make_unique<Adadelta>(AdadeltaOptions{.learning_rate = rate, .clip = clip});
  if (name == "adamw") return std::make_unique<AdamW>(AdamWOptions{.learning_rate = rate, .clip = clip});
  if (name == "rmsprop")
    return std::make_unique<RMSprop>(RMSpropOptions{.learning_rate = rate, .clip = clip});
  if (name == "sgd") return std::make_unique<SGD>(SGDOptions{.learning_rate = rate, .clip = clip});
  return std::make_unique<Adam>(AdamOptions{.learning_rate = rate, .clip = clip});
}

double default_learning_rate(const std::string& optimizer) {
  if (optimizer == "adadelta") return 0.1;
  if (optimizer == "sgd") return 0.01;
  return 0.001;
}

}  // namespace ronde::apps
