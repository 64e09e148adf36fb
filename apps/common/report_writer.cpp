#include "common/report_writer.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include <ronde/distributed/communicator.h>
#include <ronde/models/file_io.h>
#include <ronde/models/save_point.h>

namespace ronde::apps {
namespace {

std::int64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::int64_t largest_peak_rss(Communicator& communicator) {
  const Tensor bytes = Tensor::from<std::int64_t>({1}, {peak_rss()});
  communicator.allreduce(bytes, Reduction::max).wait();
  return bytes.to_vector<std::int64_t>()[0];
}

double value_or_zero(const Logs& logs, const char* name) {
  const double* value = logs.find(name);
  return value == nullptr ? 0.0 : *value;
}

std::optional<double> value(const Logs& logs, const char* name) {
  const double* found = logs.find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

// Of two parts of a run together.
Pace sum(const Pace& a, const Pace& b) {
  double seconds = 0.0, images = 0.0;
  for (const Pace& part : {a, b}) {
    if (part.images_per_second <= 0.0) continue;
    seconds += part.seconds;
    images += part.seconds * part.images_per_second;
  }
  return {.seconds = a.seconds + b.seconds, .images_per_second = seconds > 0.0 ? images / seconds : 0.0};
}

template <class Part>
Pace first_steps(const Part& part, std::int64_t steps) {
  if (part.steps < 1) return {};
  return {.seconds = part.seconds * static_cast<double>(steps) / static_cast<double>(part.steps),
          .images_per_second = part.images_per_second};
}

// Of the steps from which the run goes on within an epoch. The report may be of a moment before or after
// their checkpoint, and of an epoch that has ended.
Pace pace_before(const Report& report, const TrainingPlan& plan) {
  const std::int64_t epoch = plan.initial_epoch + 1, steps = plan.initial_step;
  for (const EpochReport& one : report.epochs)
    if (one.epoch == epoch) return first_steps(one, steps);
  if (report.unfinished && report.unfinished->epoch == epoch) return first_steps(*report.unfinished, steps);
  return {};
}

}  // namespace

ReportWriter::ReportWriter(Report& report, ReportWriterOptions options)
    : report_(report), options_(std::move(options)), sampler_(options_.sampler) {}

void ReportWriter::on_train_begin(Model&, const TrainingPlan& plan) {
  has_begun_ = true;
  epoch_ = plan.initial_epoch;
  steps_ = plan.initial_step;
  before_ = pace_before(report_, plan);
  const auto repeated = [&](const EpochReport& entry) { return entry.epoch > plan.initial_epoch; };
  const bool goes_on_at_the_end = std::erase_if(report_.epochs, repeated) == 0 && !report_.unfinished;
  const double speed = report_.images_per_second;
  report_.unfinished.reset();
  earlier_ = before_;
  for (const EpochReport& one : report_.epochs)
    earlier_ = sum(earlier_, {.seconds = one.seconds, .images_per_second = one.images_per_second});
  if (goes_on_at_the_end)
    earlier_.images_per_second = speed;  // measured, while that of epochs is put together
  count_unfinished();
  total_up();
}

std::int64_t ReportWriter::samples_of(std::int64_t epoch) const {
  std::int64_t samples = 0;
  for (std::int64_t step = 0; step < plan().steps_per_epoch; ++step)
    samples += sampler_.global_count(epoch * plan().steps_per_epoch + step);
  return samples;
}

Pace ReportWriter::epoch_pace() const {
  const TrainingProgress& progress = model().progress();
  const Pace now{.seconds = progress.epoch_seconds, .images_per_second = progress.epoch_images_per_second};
  return epoch_ == plan().initial_epoch ? sum(before_, now) : now;
}

void ReportWriter::total_up() {
  const TrainingProgress& progress = model().progress();
  report_.train_seconds = report_.unfinished ? report_.unfinished->seconds : 0.0;
  for (const EpochReport& one : report_.epochs) report_.train_seconds += one.seconds;
  const Pace now{.seconds = progress.train_seconds, .images_per_second = progress.images_per_second};
  report_.images_per_second = sum(earlier_, now).images_per_second;
}

void ReportWriter::on_train_batch_end(std::int64_t batch, const Logs&) {
  steps_ = batch + 1;
}

void ReportWriter::on_save_point(SavePoint& point) {
  if (point.ends_epoch() || options_.paths.empty()) return;
  point.on_written([this](const std::string&) { was_saved_ = true; });  // on the thread that writes
}

void ReportWriter::on_train_batch_begin(std::int64_t) {
  if (!was_saved_.exchange(false)) return;
  count_unfinished();
  total_up();
  try {
    write_files();
  } catch (const IoError& error) {
    warn_once(error);
  }
}

void ReportWriter::count_unfinished() {
  if (steps_ == 0) return;
  const Pace pace = epoch_pace();
  report_.unfinished = UnfinishedEpoch{.epoch = epoch_ + 1,
                                       .steps = steps_,
                                       .seconds = pace.seconds,
                                       .images_per_second = pace.images_per_second};
}

void ReportWriter::on_epoch_end(std::int64_t epoch, Logs& logs) {
  const Pace pace = epoch_pace();
  EpochReport entry;
  entry.epoch = epoch + 1;
  entry.steps = plan().steps_per_epoch;
  entry.samples = samples_of(epoch);
  entry.loss = value_or_zero(logs, "loss");
  entry.accuracy = value_or_zero(logs, "accuracy");
  entry.val_loss = value(logs, "val_loss");
  entry.val_accuracy = value(logs, "val_accuracy");
  entry.learning_rate = model().optimizer().current_learning_rate();
  entry.seconds = pace.seconds;
  entry.images_per_second = pace.images_per_second;
  report_.epochs.push_back(entry);
  report_.unfinished.reset();
  steps_ = 0;
  total_up();
  try {
    write(model());
  } catch (const Error& error) {
    if (error.status() != ExitStatus::io) throw;
    warn_once(error);
  }
}

void ReportWriter::warn_once(const Error& error) {
  if (is_main_rank() && !warned_)
    std::fprintf(stderr, "ronde: warning: %s; training goes on\n", error.what());
  warned_ = true;
}

void ReportWriter::write_files() {
  for (const std::string& path : options_.paths) {
    atomic_write_file(path, to_json(report_));
    if (options_.on_written) options_.on_written(path);
  }
}

void ReportWriter::write(Model& model) {
  if (options_.paths.empty()) return;
  Communicator& communicator = model.communicator();
  report_.peak_rss_bytes = largest_peak_rss(communicator);
  report_.weights_sha256 = model.weights_sha256();
  collectively(communicator, [&] {
    if (communicator.rank() == 0) write_files();
  });
}

void ReportWriter::write_end(const std::string& status) noexcept {
  if (!has_begun_) return;
  try {
    report_.status = status;
    report_.peak_rss_bytes = std::max(report_.peak_rss_bytes, peak_rss());
    count_unfinished();
    total_up();
    write_files();
  } catch (const std::exception&) {
    // The run's own error is the one to report.
  }
}

}  // namespace ronde::apps
