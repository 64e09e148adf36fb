#include "common/run_end.h"

#include <cstdio>

#include <ronde/core/text.h>

#include "common/shown_predictions.h"
#include "report/machine.h"
#include "report/report_files.h"
#include "report/timeline_summary.h"

namespace ronde::apps {
namespace {

// On rank 0, for the page.
std::optional<TimelineSummary> summary_of(const std::string& timeline) {
  if (timeline.empty()) return std::nullopt;
  return summarize_timeline(read_timeline(timeline), timeline);
}

// Where ranks do not simply add up all gradients, what that saves.
void print_exchange(const Model& model, const TrainingJob& job) {
  const ExchangeStatistics sent = model.exchange_statistics();
  if (sent.bytes_sent == 0 || to_string(job.options.distributed) == to_string(DistributedOptions())) return;
  const double steps = 1e6 * static_cast<double>(sent.steps);
  std::printf("Sent by a rank per step: %.3f MB; plain sums: %.3f MB\n",
              static_cast<double>(sent.bytes_sent) / steps,
              static_cast<double>(sent.plain_bytes_sent) / steps);
}

void print_tuning(const Model& model, const TrainingJob& job) {
  const std::string& found = model.progress().tuned;
  if (job.options.autotune)
    std::printf("Autotune: %s\n", found.empty() ? "the training was too short" : found.c_str());
}

void print_places(const RunEnd& end) {
  if (!end.saved_model.empty()) std::printf("Saved trained model at %s\n", end.saved_model.c_str());
  if (!end.timeline.empty()) std::printf("Timeline: %s\n", end.timeline.c_str());
  if (!end.page.empty()) std::printf("Report: %s\n", end.page.c_str());
}

}  // namespace

void write_model_and_timeline(Model& model, const TrainingJob& job, std::optional<Timeline>& timeline,
                              RunEnd& end) {
  if (!job.files.saved_model.empty())
    end.failures.attempt([&] {
      model.save(job.files.saved_model);
      end.saved_model = job.files.saved_model;
    });
  if (timeline)
    end.failures.attempt([&] {
      timeline->stop();
      end.timeline = job.options.timeline;
    });
}

void write_page(Communicator& world, const TrainingJob& job, const Report& report,
                std::optional<EvaluationDetails> details, const RunClock& clock, RunEnd& end) {
  if (job.files.logs.empty()) return;
  const auto write = [&] {
    if (world.rank() != 0) return;
    write_run_report({.report = report,
                      .details = std::move(details),
                      .timeline = summary_of(end.timeline),
                      .command = run_command(world.size()),
                      .machine = machine_description(),
                      .data = job.data_description,
                      .finished = utc_now(),
                      .times = clock.shares(),
                      .total_seconds = clock.total_seconds()},
                     job.files.logs, job.files.report);
  };
  end.failures.attempt([&] {
    collectively(world, write);
    end.page = job.files.report;
  });
}

void print_end(Model& model, const TrainingJob& job, const Report& report, const RunEnd& end) {
  if (job.options.verbosity() != 0) {
    if (job.recipe.shown_predictions > 0) show_predictions(model, job.test, job.recipe.shown_predictions);
    print_tuning(model, job);
    print_exchange(model, job);
    print_places(end);
    std::fputs(end.tested.c_str(), stdout);
  }
  if (job.recipe.is_record) std::printf("Seconds from data in memory to tested model: %.2f\n", end.seconds);
  std::printf("Test loss: %s\nTest accuracy: %.4f\n", formatted("%.4f", report.test->loss).c_str(),
              report.test->accuracy);
}

}  // namespace ronde::apps
