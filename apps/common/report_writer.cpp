#include "common/report_writer.h"

#include <sys/resource.h>

#include <ronde/distributed/communicator.h>
#include <ronde/models/file_io.h>

namespace ronde::apps {
namespace {

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

double rate(std::int64_t samples, double time) {
  return time > 0.0 ? static_cast<double>(samples) / time : 0.0;
}

std::int64_t largest_peak_rss(Communicator& communicator) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const Tensor bytes = Tensor::from<std::int64_t>({1}, {std::int64_t{usage.ru_maxrss} * 1024});
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

void ReportWriter::on_epoch_begin(std::int64_t) {
  epoch_samples_ = epoch_steps_ = timed_epoch_samples_ = 0;
  epoch_begin_ = timed_begin_ = last_step_end_ = Clock::now();
}

void ReportWriter::on_train_batch_end(std::int64_t, const Logs&) {
  last_step_end_ = Clock::now();
  const std::int64_t samples = sampler_.global_count(step_);
  epoch_samples_ += samples;
  ++epoch_steps_;
  if (step_ == 0) {
    timed_begin_ = last_step_end_;
  } else {
    timed_epoch_samples_ += samples;
  }
  ++step_;
}

void ReportWriter::on_epoch_end(std::int64_t epoch, Logs& logs) {
  EpochReport entry;
  entry.epoch = epoch + 1;
  entry.steps = epoch_steps_;
  entry.samples = epoch_samples_;
  entry.loss = value_or_zero(logs, "loss");
  entry.accuracy = value_or_zero(logs, "accuracy");
  entry.val_loss = value(logs, "val_loss");
  entry.val_accuracy = value(logs, "val_accuracy");
  entry.learning_rate = model().optimizer().current_learning_rate();
  entry.seconds = seconds(last_step_end_ - epoch_begin_);
  const double timed = seconds(last_step_end_ - timed_begin_);
  entry.images_per_second = rate(timed_epoch_samples_, timed);
  timed_seconds_ += timed;
  timed_samples_ += timed_epoch_samples_;
  report_.train_seconds += entry.seconds;
  report_.images_per_second = rate(timed_samples_, timed_seconds_);
  report_.epochs.push_back(entry);
  write(model());
}

void ReportWriter::write(Model& model) {
  if (options_.path.empty()) return;
  Communicator& communicator = model.communicator();
  report_.peak_rss_bytes = largest_peak_rss(communicator);
  report_.weights_sha256 = model.weights_sha256();
  collectively(communicator, [&] {
    if (communicator.rank() == 0) atomic_write_file(options_.path, to_json(report_));
  });
}

void ReportWriter::write_failure() noexcept {
  if (options_.path.empty() || report_.epochs.empty()) return;
  try {
    report_.status = "failed";
    atomic_write_file(options_.path, to_json(report_));
  } catch (const std::exception&) {
    // The run's own error is the one to report.
  }
}

}  // namespace ronde::apps
