#include "common/learning.h"

#include <array>
#include <cstdio>

#include <ronde/core/counted.h>
#include <ronde/models/train_and_evaluate.h>

#include "common/callbacks.h"
#include "common/device_choice.h"

namespace ronde::apps {
namespace {

NonFiniteAction non_finite_action(const std::string& word) {
  if (word == "skip") return NonFiniteAction::skip;
  return word == "rollback" ? NonFiniteAction::rollback : NonFiniteAction::abort;
}

// What stays in a core's cache is too little to fill a GPU.
std::int64_t micro_batch(const TrainingJob& job) {
  if (job.options.micro_batch) return *job.options.micro_batch;
  return job.recipe.micro_batch.value_or(device_kind(job.device) == "cpu" ? 64 : 0);
}

FitOptions fit_options(const TrainingJob& job, std::vector<Callback*> callbacks) {
  FitOptions fit;
  fit.global_batch_size = job.plan.global_batch;
  fit.epochs = job.plan.epochs;
  fit.steps_per_epoch = job.plan.steps_per_epoch;
  fit.repeat = job.plan.repeat;
  fit.passes = job.plan.passes;
  fit.micro_batch = micro_batch(job);
  fit.backward_passes_per_step = job.options.backward_passes_per_step;
  fit.deterministic = job.options.deterministic;
  fit.autotune = job.options.autotune;
  fit.non_finite = {.action = non_finite_action(job.options.non_finite),
                    .limit = job.options.non_finite_limit};
  fit.check_replicas_every = job.options.check_replicas;
  fit.audit_every = job.options.audit_steps;
  if (job.recipe.augmentation && !job.options.no_augmentation) fit.augmentation = &*job.recipe.augmentation;
  if (job.recipe.validate_each_epoch) fit.validation = &job.test;
  fit.validation_batch_size = kTestBatch;
  fit.callbacks = std::move(callbacks);
  fit.verbose = job.options.verbosity();
  return fit;
}

// On a terminal it stands below the bar, which then begins anew.
void print_evaluation(const EvalResult& result, int verbosity) {
  std::string line = cat(verbosity == 1 ? "\n" : "", "Evaluation after ", counted(result.steps, "step"));
  for (const auto& [name, value] : result.evaluation.logs.entries()) {
    std::array<char, 64> number{};
    std::snprintf(number.data(), number.size(), "%.4f", value);
    line += cat(" - ", name, ": ", number.data());
  }
  std::puts(line.c_str());
}

// Trains by steps, with checkpoints and evaluations on the way; gives the last evaluation.
Evaluation learn_by_steps(Model& model, Estimator& estimator, const TrainingJob& job, FitOptions fit,
                          RunClock& clock) {
  const std::int64_t epoch_steps =
      fit.steps_per_epoch > 0 ? fit.steps_per_epoch
                              : ShardedSampler(sampling(job, model.communicator())).steps_per_epoch();
  const int verbosity = model.communicator().rank() == 0 ? job.options.verbosity() : 0;
  const EvalSpec evaluation{.data = &job.test,
                            .batch_size = kTestBatch,
                            .start_delay_secs = job.recipe.estimator->start_delay_secs,
                            .throttle_secs = job.recipe.estimator->throttle_secs,
                            .on_result = [&](const EvalResult& result) {
                              clock.add("evaluation", result.seconds);
                              if (verbosity != 0) print_evaluation(result, verbosity);
                            }};
  const TrainSpec training{
      .data = &job.train, .max_steps = job.plan.epochs * epoch_steps, .fit = std::move(fit)};
  return train_and_evaluate(estimator, training, evaluation).evaluations.back().evaluation;
}

Learned estimate(Model& model, const TrainingJob& job, const RunStart& start, FitOptions fit,
                 RunClock& clock) {
  Estimator estimator(model, {.save_checkpoints_steps = job.plan.save_steps,
                              .mtbf_seconds = job.plan.mtbf,
                              .keep_checkpoint_max = job.plan.keep_steps,
                              .resume = start.file,
                              .checkpoint_pattern = job.files.step_checkpoints,
                              .verbose = job.options.verbose == "2" ? 1 : 0});
  Learned learned;
  learned.evaluation = learn_by_steps(model, estimator, job, std::move(fit), clock);
  learned.checkpoint = estimator.latest_checkpoint();
  clock.add("checkpoints", estimator.pause_seconds());
  return learned;
}

}  // namespace

SamplerOptions sampling(const TrainingJob& job, const Communicator& world) {
  return {.size = job.train.size(),
          .global_batch = job.plan.global_batch,
          .rank = world.rank(),
          .world_size = world.size(),
          .repeat = job.plan.repeat,
          .passes = job.plan.passes,
          .seed = static_cast<std::uint64_t>(job.options.seed)};
}

Learned learn(Model& model, const TrainingJob& job, const RunStart& start, ReportWriter& writer,
              RunClock& clock) {
  const TrainerCallbacks callbacks(job.options, job.recipe, job.plan, job.files, start, job.train);
  std::vector<Callback*> list = callbacks.list();
  if (job.uploader) list.push_back(job.uploader);
  list.push_back(&clock);
  list.push_back(&writer);  // last, so that it sees all logs
  FitOptions fit = fit_options(job, std::move(list));
  for (const char* part : {"training", "evaluation", "checkpoints"}) clock.add(part, 0.0);  // in this order
  Learned learned;
  if (job.recipe.estimator) {
    learned = estimate(model, job, start, std::move(fit), clock);
  } else {
    fit.resume = !start.file.empty();
    model.fit(job.train, fit);
    learned.checkpoint = start.file;
  }
  if (const std::string file = callbacks.latest_checkpoint(); !file.empty()) learned.checkpoint = file;
  learned.keeps_best = callbacks.keeps_best() && !learned.checkpoint.empty();
  clock.add("training", model.progress().train_seconds);
  clock.add("checkpoints", callbacks.pause_seconds());
  return learned;
}

}  // namespace ronde::apps
