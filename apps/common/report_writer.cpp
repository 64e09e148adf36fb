#include "common/report_writer.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include <ronde/distributed/communicator.h>
#include <ronde/models/file_io.h>

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

}  // namespace

ReportWriter::ReportWriter(Report& report, ReportWriterOptions options)
    : report_(report), options_(std::move(options)), sampler_(options_.sampler) {}

void ReportWriter::on_train_begin(Model&, const TrainingPlan& plan) {
  has_begun_ = true;
  std::erase_if(report_.epochs, [&](const EpochReport& entry) { return entry.epoch > plan.initial_epoch; });
}

std::int64_t ReportWriter::samples_of(std::int64_t epoch) const {
  std::int64_t samples = 0;
  for (std::int64_t step = 0; step < plan().steps_per_epoch; ++step)
    samples += sampler_.global_count(epoch * plan().steps_per_epoch + step);
  return samples;
}

void ReportWriter::on_epoch_end(std::int64_t epoch, Logs& logs) {
  const TrainingProgress& progress = model().progress();
  EpochReport entry;
  entry.epoch = epoch + 1;
  entry.steps = plan().steps_per_epoch;
  entry.samples = samples_of(epoch);
  entry.loss = value_or_zero(logs, "loss");
  entry.accuracy = value_or_zero(logs, "accuracy");
  entry.val_loss = value(logs, "val_loss");
  entry.val_accuracy = value(logs, "val_accuracy");
  entry.learning_rate = model().optimizer().current_learning_rate();
  entry.seconds = progress.epoch_seconds;
  entry.images_per_second = progress.epoch_images_per_second;
  report_.epochs.push_back(entry);
  report_.train_seconds = 0.0;
  for (const EpochReport& one : report_.epochs) report_.train_seconds += one.seconds;
  report_.images_per_second = progress.images_per_second;
  try {
    write(model());
  } catch (const Error& error) {
    if (error.status() != ExitStatus::io) throw;
    if (is_main_rank() && !warned_)
      std::fprintf(stderr, "ronde: warning: %s; training goes on\n", error.what());
    warned_ = true;
  }
}

void ReportWriter::write(Model& model) {
  if (options_.paths.empty()) return;
  Communicator& communicator = model.communicator();
  report_.peak_rss_bytes = largest_peak_rss(communicator);
  report_.weights_sha256 = model.weights_sha256();
  collectively(communicator, [&] {
    if (communicator.rank() != 0) return;
    for (const std::string& path : options_.paths) {
      atomic_write_file(path, to_json(report_));
      if (options_.on_written) options_.on_written(path);
    }
  });
}

void ReportWriter::write_end(const std::string& status) noexcept {
  if (!has_begun_) return;
  try {
    report_.status = status;
    report_.peak_rss_bytes = std::max(report_.peak_rss_bytes, peak_rss());
    for (const std::string& path : options_.paths) {
      atomic_write_file(path, to_json(report_));
      if (options_.on_written) options_.on_written(path);
    }
  } catch (const std::exception&) {
    // The run's own error is the one to report.
  }
}

}  // namespace ronde::apps
