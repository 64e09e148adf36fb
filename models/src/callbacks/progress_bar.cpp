#include <ronde/models/progress_bar.h>

#include <unistd.h>

#include <ronde/core/clock.h>
#include <ronde/models/terminal.h>

#include "callbacks/progress_text.h"

namespace ronde::inline v0 {

namespace {

constexpr double kPaintInterval = 0.05;  // seconds, on a terminal
constexpr double kLogInterval = 10.0;    // elsewhere

bool takes_images(Model& model) {
  return model.module().input_shape().rank() == 3;  // (h, w, c)
}

}  // namespace

ProgressBar::ProgressBar(ProgressBarOptions options)
    : style_(options.style), output_(options.output ? options.output : stdout) {}

ProgressBar::~ProgressBar() {
  if (!is_line_open_) return;
  std::fputc('\n', output_);
  std::fflush(output_);
}

void ProgressBar::on_train_begin(Model&, const TrainingPlan&) {
  is_terminal_ = ::isatty(::fileno(output_)) == 1;
}

void ProgressBar::on_epoch_begin(std::int64_t epoch) {
  epoch_start_ = steady_seconds();
  last_paint_ = 0.0;
  // A run may go on behind the last step, with nothing left to do but the epoch's end.
  steps_done_ = epoch == plan().initial_epoch ? plan().initial_step : 0;
  steps_timed_ = 0;
  painted_width_ = 0;
  if (!is_main_rank() || plan().epochs <= 1) return;
  std::fputs(cat("Epoch ", epoch + 1, "/", plan().epochs, "\n").c_str(), output_);
  std::fflush(output_);
}

bool ProgressBar::is_time_to_paint() const {
  if (style_ != ProgressStyle::bar || !is_main_rank()) return false;
  // The last step shows that the epoch is full while validation runs.
  const bool last = is_terminal_ && steps_done_ + 1 == plan().steps_per_epoch;
  return last || steady_seconds() - last_paint_ >= (is_terminal_ ? kPaintInterval : kLogInterval);
}

bool ProgressBar::wants_batch_logs() const {
  return is_time_to_paint();
}

void ProgressBar::on_train_batch_begin(std::int64_t batch) {
  steps_done_ = batch;
}

void ProgressBar::on_train_batch_end(std::int64_t batch, const Logs& logs) {
  last_step_end_ = steady_seconds();
  if (steps_timed_++ == 0) first_step_end_ = last_step_end_;
  const bool due = is_time_to_paint() && !logs.entries().empty();
  steps_done_ = batch + 1;
  if (!due) return;
  last_paint_ = last_step_end_;
  const double per_step = seconds_per_step();
  const ProgressState state{
      .steps = steps_done_,
      .target = plan().steps_per_epoch,
      .seconds = seconds(),
      .seconds_per_step = per_step,
      .samples_per_second = per_step > 0 ? static_cast<double>(plan().global_batch) / per_step : 0.0,
      .are_images = takes_images(model())};
  paint(is_terminal_ ? fitting_bar_text(state, logs, static_cast<std::size_t>(output_width()) - 1)
                     : bar_text(state, logs, false),
        false);
}

void ProgressBar::on_epoch_end(std::int64_t, Logs& logs) {
  if (!is_main_rank()) return;
  const ProgressState state{.steps = steps_done_,
                            .target = plan().steps_per_epoch,
                            .seconds = seconds(),
                            .seconds_per_step = seconds_per_step(),
                            .samples_per_second = model().progress().epoch_images_per_second,
                            .are_images = takes_images(model())};
  if (style_ == ProgressStyle::bar) {
    paint(bar_text(state, logs, true), true);
  } else {
    std::fputs((line_text(state, logs) + "\n").c_str(), output_);
    std::fflush(output_);
  }
}

double ProgressBar::seconds() const {
  return steady_seconds() - epoch_start_;
}

double ProgressBar::seconds_per_step() const {
  if (steps_timed_ == 0) return 0.0;
  if (steps_timed_ == 1) return last_step_end_ - epoch_start_;
  return (last_step_end_ - first_step_end_) / static_cast<double>(steps_timed_ - 1);
}

void ProgressBar::paint(const std::string& line, bool final) {
  std::string text = is_terminal_ ? "\r" : painted_width_ > 0 ? "\n" : "";
  text += line;
  if (is_terminal_ && line.size() < painted_width_) text.append(painted_width_ - line.size(), ' ');
  if (final) text += '\n';
  painted_width_ = line.size();
  is_line_open_ = !final;
  std::fputs(text.c_str(), output_);
  std::fflush(output_);
}

}  // namespace ronde::inline v0
