#include "common/training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/timeline.h>

#include "common/device_choice.h"
#include "common/learning.h"
#include "common/resume.h"
#include "common/run_banner.h"
#include "common/run_end.h"
#include "common/terminal_text.h"
#include "common/uploads.h"

namespace ronde::apps {
namespace {

Model make_model(Communicator& world, const TrainingJob& job) {
  Model model(job.recipe.make_net(), job.recipe.input_shape,
              {.communicator = &world,
               .seed = static_cast<std::uint64_t>(job.options.seed),
               .dtype = job.options.dtype(),
               .backend = job.device.backend,
               .compute_dtype = job.options.compute_dtype()});
  if (job.recipe.prepare_net != nullptr) job.recipe.prepare_net(model.module(), job.train);
  model.compile({.optimizer = make_optimizer(job.recipe, job.plan, job.train.size()),
                 .loss = std::make_unique<CategoricalCrossentropy>(job.recipe.loss),
                 .distributed = job.options.distributed});
  return model;
}

Report describe(const Communicator& world, const TrainingJob& job, Model& model) {
  Report report;
  report.program = job.program;
  report.recipe = job.recipe.name;
  report.world_size = world.size();
  report.threads = default_backend().threads().size();
  report.device = device_kind(job.device);
  report.precision = job.options.precision;
  report.deterministic = job.options.deterministic;
  report.seed = job.options.seed;
  report.parameters = model.module().parameter_count();
  report.global_batch = job.plan.global_batch;
  return report;
}

// Loads what the run goes on with.
RunStart go_on(Communicator& world, const TrainingJob& job, Model& model, Report& report) {
  RunStart start = find_start(world, job.options, job.recipe, job.files);
  if (start.file.empty()) return start;
  model.load_weights(start.file);
  if (world.rank() == 0 && start.continues_place) recall_epochs(job.files, report);
  return start;
}

void print_banner(const Communicator& world, const TrainingJob& job, const Report& report,
                  const std::string& resume) {
  if (world.rank() != 0 || job.options.verbosity() == 0) return;
  std::fputs(for_terminal(run_banner(world, report, job, resume)).c_str(), stdout);
  std::fflush(stdout);
}

// What the banner says of it.
std::string resume_text(const TrainingJob& job, const RunStart& start, const TrainingProgress& progress,
                        const Report& report) {
  const std::string& earlier = start.earlier;
  if (start.file.empty() && !earlier.empty()) return cat("no: a new run; ", earlier, " is of an earlier one");
  if (start.file.empty() && job.options.resume.empty()) return "";
  return resume_line(start.file, progress.epochs, progress.steps) + repeated_epochs(report, progress.epochs) +
         (earlier.empty() ? "" : cat("; ", earlier, " is of another run"));
}

TestReport to_report(const Evaluation& evaluation) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, evaluation.count));
  return {.loss = evaluation.loss_sum / count,
          .accuracy = static_cast<double>(evaluation.correct) / count,
          .correct = evaluation.correct,
          .count = evaluation.count};
}

// The weights that count, tested; in detail where a report will show it.
std::optional<EvaluationDetails> test(Model& model, const TrainingJob& job, const Learned& learned,
                                      Report& report, RunClock& clock) {
  report.checkpoint = learned.checkpoint;
  if (learned.keeps_best) model.load_weights(learned.checkpoint);
  std::optional<EvaluationDetails> details;
  clock.measure("evaluation", [&] {
    if (!job.files.logs.empty()) {
      details = collect_details(model, job.test, {.batch_size = kTestBatch, .views = job.recipe.test_views});
      report.test = details->test;
    } else {
      report.test = to_report(
          learned.evaluation
              ? *learned.evaluation
              : model.evaluate(job.test, {.batch_size = kTestBatch, .views = job.recipe.test_views}));
    }
  });
  return details;
}

std::optional<TimelineOptions> timeline_options(const TrainOptions& options) {
  if (options.timeline.empty()) return std::nullopt;
  return TimelineOptions{
      .path = options.timeline, .steps = options.timeline_steps, .max_bytes = options.timeline_mb << 20};
}

void add_lost_checkpoint(const Model& model, RunEnd& end) {
  if (const std::string& path = model.progress().unwritten_checkpoint; !path.empty())
    end.failures.add({cat(path, ": the training's last checkpoint could not be written"), ExitStatus::io, 0});
}

// Whose accuracy the last line tells, where it need not be the last epoch's; empty elsewhere.
std::string tested_weights(const Model& model, const TrainingJob& job, const Learned& learned) {
  if (!learned.keeps_best || learned.checkpoint != job.files.epoch_checkpoints) return "";
  return cat("Tested weights: of epoch ", model.progress().epochs, ", the best val_loss (",
             learned.checkpoint, ")\n");
}

// Not so after `--non-finite skip` where no step could be made any more.
bool is_of_use(const Report& report) {
  return std::isfinite(report.test->loss);
}

bool is_saved(ExitStatus status) {
  return status == ExitStatus::saved || status == ExitStatus::interrupted;
}

// The error's line is to stand below the bar that it ends.
void end_early(const Communicator& world, const TrainingJob& job, ReportWriter& writer,
               const std::string& status) {
  if (world.rank() != 0) return;
  if (writer.has_begun() && job.options.verbosity() == 1) std::putchar('\n'), std::fflush(stdout);
  writer.write_end(status);
}

}  // namespace

void run_training(Communicator& world, const TrainingJob& job, RunClock& clock) {
  const double begin = clock.total_seconds();
  Model model = make_model(world, job);
  Report report = describe(world, job, model);
  const RunStart start = go_on(world, job, model, report);
  print_banner(world, job, report, resume_text(job, start, model.progress(), report));

  const auto upload = [&](const std::string& path) {
    if (job.uploader && world.rank() == 0 && !path.empty()) job.uploader->offer(path);
  };
  upload(start.file);  // the run before may not have come to it
  ReportWriter writer(report,
                      {.paths = job.files.metrics, .sampler = sampling(job, world), .on_written = upload});
  std::optional<EvaluationDetails> details;
  RunEnd end;
  std::optional<Timeline> timeline;
  if (const auto wanted = timeline_options(job.options)) timeline.emplace(world, *wanted);
  try {
    const Learned learned = learn(model, job, start, writer, clock);
    details = test(model, job, learned, report, clock);
    end.tested = tested_weights(model, job, learned);
    end.seconds = clock.total_seconds() - begin;
    add_lost_checkpoint(model, end);
    write_model_and_timeline(model, job, timeline, end);
    report.status = end.failures.any() || !is_of_use(report) ? "failed" : "finished";
    end.failures.attempt([&] { writer.write(model); });
  } catch (const CollectiveError& error) {
    end_early(world, job, writer, is_saved(error.status()) ? "saved" : "failed");
    throw;
  } catch (...) {
    end_early(world, job, writer, "failed");
    throw;
  }
  write_page(world, job, report, std::move(details), clock, end);
  if (job.uploader && world.rank() == 0) offer_results(*job.uploader, job.options, job.files);
  if (world.rank() == 0) print_end(model, job, report, end);
  if (!is_of_use(report))
    throw CollectiveError("the test loss is not a finite number: these weights are of no use",
                          ExitStatus::non_finite, 0);
  end.failures.raise();
}

}  // namespace ronde::apps
