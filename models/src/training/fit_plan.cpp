#include "training/fit_plan.h"

#include <algorithm>

#include <ronde/core/counted.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/models/terminal.h>

#include "training/evaluator.h"
#include "training/train_step.h"

namespace ronde::inline v0 {

namespace {

std::int64_t global_batch(const FitOptions& options, const Communicator& communicator) {
  return options.global_batch_size > 0
             ? options.global_batch_size
             : product_or_most<std::int64_t>(options.batch_size, communicator.size());
}

int resolve_verbosity(const FitOptions& options, const Communicator& communicator) {
  if (communicator.rank() != 0) return 0;
  if (options.verbose >= 0) return options.verbose;
  return output_is_terminal() ? 1 : 2;
}

void check(const ValidationFreq& freq) {
  if (const auto* every = std::get_if<std::int64_t>(&freq.chosen()))
    return require<UsageError>(*every >= 1, "[fit] validation_freq must be at least 1, got ", *every);
  for (const std::int64_t epoch : *std::get_if<ValidationFreq::Epochs>(&freq.chosen()))
    require<UsageError>(epoch >= 1, "[fit] validation_freq: epochs are counted from 1, got ", epoch);
}

void check(const Model::State& model, const Dataset& data, const FitOptions& options) {
  model.require_trainable("fit");
  require_fitting_inputs(model, data, "fit");
  require<UsageError>(options.batch_size >= 1, "[fit] batch_size must be at least 1, got ",
                      options.batch_size);
  require<UsageError>(options.global_batch_size >= 0, "[fit] global_batch_size must not be negative, got ",
                      options.global_batch_size);
  require<UsageError>(options.epochs >= options.initial_epoch && options.initial_epoch >= 0, "[fit] epochs ",
                      options.epochs, " with initial_epoch ", options.initial_epoch);
  require<UsageError>(options.steps_per_epoch >= 0 && options.micro_batch >= 0 && options.max_steps >= 0,
                      "[fit] steps_per_epoch, micro_batch and max_steps must not be negative, got ",
                      options.steps_per_epoch, ", ", options.micro_batch, " and ", options.max_steps);
  require<UsageError>(options.backward_passes_per_step >= 1,
                      "[fit] backward_passes_per_step must be at least 1, got ",
                      options.backward_passes_per_step);
  require<UsageError>(
      options.check_replicas_every >= 0 && options.audit_every >= 0 && options.non_finite.limit >= 1,
      "[fit] check_replicas_every and audit_every must not be negative, and non_finite.limit at least 1, "
      "got ",
      options.check_replicas_every, ", ", options.audit_every, " and ", options.non_finite.limit);
  require<UsageError>(!options.repeat || options.steps_per_epoch > 0, "[fit] repeat needs steps_per_epoch");
  require<UsageError>(!options.deterministic || options.virtual_shards >= model.communicator->size(),
                      "[fit] deterministic: ", counted(options.virtual_shards, "virtual shard"),
                      " cannot be laid on ", counted(model.communicator->size(), "rank"));
  const Module* synchronized = options.deterministic ? find_synchronized(*model.module) : nullptr;
  require<UsageError>(synchronized == nullptr,
                      "[fit] deterministic: ", synchronized ? synchronized->label() : "",
                      " is synchronized, but the statistics of this mode are those of a virtual shard");
  require<UsageError>(
      !options.deterministic || !model.module->output_is_masked(),
      "[fit] deterministic: the net's outputs have a mask, and their loss is a mean over the steps of "
      "the whole batch, which this mode computes in virtual shards");
  const std::string exchange = to_string(model.optimizer->options());
  require<UsageError>(!options.deterministic || exchange == to_string(DistributedOptions()),
                      "[fit] deterministic: gradients are summed in one fixed tree, which excludes ",
                      exchange);
  check(options.validation_freq);
  if (options.validation) require_fitting_inputs(model, *options.validation, "fit, validation");
  check_class_weights("[fit] class_weight", options.class_weight, *model.module);
  check_sample_weights("[fit] sample_weight", options.sample_weight, data.size());
  check_sample_weights("[fit] validation_sample_weight", options.validation_sample_weight,
                       options.validation ? options.validation->size() : 0);
}

/// The first pass over the data that the run took nothing of.
std::int64_t passes_begun(const SavedRun& run) {
  const ConfigValue plan(run.plan);
  const ShardedSampler sampler({.size = plan.at("samples").as_int(),
                                .global_batch = plan.at("global_batch").as_int(),
                                .repeat = plan.at("repeat").as_bool(),
                                .passes = plan.at("passes").as_int(),
                                .first_pass = run.first_pass});
  return sampler.passes_begun(run.epoch * plan.at("steps_per_epoch").as_int() + run.epoch_step);
}

/// What a call of `fit` counts passes from: one behind another gets other orders, masks and augmentations,
/// but with an `initial_epoch` behind the epochs of that before it, it goes on with its numbers.
std::int64_t first_pass(const Model::State& model, const FitOptions& options) {
  if (!model.run) return 0;
  const SavedRun& run = *model.run;
  const std::int64_t epochs_begun = run.epoch + (run.epoch_step > 0);
  return options.resume || options.initial_epoch >= epochs_begun ? run.first_pass : passes_begun(run);
}

}  // namespace

ShardedSampler make_sampler(const Model::State& model, const Dataset& data, const FitOptions& options) {
  check(model, data, options);
  return ShardedSampler({.size = data.size(),
                         .global_batch = global_batch(options, *model.communicator),
                         .rank = model.communicator->rank(),
                         .world_size = model.communicator->size(),
                         .shuffle = options.shuffle,
                         .repeat = options.repeat,
                         .passes = options.passes,
                         .seed = model.options.seed,
                         .first_pass = first_pass(model, options),
                         .shuffle_block = data.block_size(),
                         .virtual_shards = options.deterministic ? options.virtual_shards : 0});
}

TrainingPlan make_plan(const Model::State& model, const FitOptions& options, const ShardedSampler& sampler) {
  TrainingPlan plan{
      .epochs = options.epochs,
      .steps_per_epoch = options.steps_per_epoch > 0 ? options.steps_per_epoch : sampler.steps_per_epoch(),
      .global_batch = sampler.options().global_batch,
      .has_validation = options.validation != nullptr,
      .validation_freq = options.validation_freq,
      .verbose = resolve_verbosity(options, *model.communicator)};
  for (std::size_t i = 0; i < model.metrics.size(); ++i)
    plan.metrics.emplace_back(model.metric_names[i], model.metrics[i]->direction());
  const std::int64_t steps = plan.steps_per_epoch, most = options.max_steps;
  if (most > 0) plan.epochs = std::min(plan.epochs, ceil_divide(most, steps));
  plan.last_step = product_or_most(plan.epochs, steps);
  if (most > 0) plan.last_step = std::min(plan.last_step, most);
  require<UsageError>(plan.last_step % steps % options.backward_passes_per_step == 0, "[fit] max_steps ",
                      most, " ends within an update of ",
                      counted(options.backward_passes_per_step, "batch", "batches"));
  return plan;
}

std::int64_t validation_batch(const FitOptions& options, const ShardedSampler& sampler) {
  if (options.validation_batch_size > 0) return options.validation_batch_size;
  const SamplerOptions& training = sampler.options();
  const std::int64_t parts = training.virtual_shards > 0 ? training.virtual_shards : training.world_size;
  return ceil_divide(training.global_batch, parts);
}

}  // namespace ronde::inline v0
