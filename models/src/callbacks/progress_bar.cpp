#include <ronde/models/progress_bar.h>

#include <unistd.h>

#include <chrono>

#include "callbacks/progress_text.h"

namespace ronde::inline v0 {

namespace {

constexpr double kPaintInterval = 0.05;  // seconds

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressBar::ProgressBar(ProgressBarOptions options)
    : style_(options.style), output_(options.output ? options.output : stdout) {}

void ProgressBar::on_train_begin(Model&, const TrainingPlan&) {
  is_terminal_ = ::isatty(::fileno(output_)) == 1;
}

void ProgressBar::on_epoch_begin(std::int64_t epoch) {
  epoch_start_ = now();
  last_paint_ = 0.0;
  steps_done_ = 0;
  painted_width_ = 0;
  if (!is_main_rank() || plan().epochs <= 1) return;
  std::fputs(cat("Epoch ", epoch + 1, "/", plan().epochs, "\n").c_str(), output_);
  std::fflush(output_);
}

bool ProgressBar::wants_batch_logs() const {
  return style_ == ProgressStyle::bar && is_main_rank() && now() - last_paint_ >= kPaintInterval;
}

void ProgressBar::on_train_batch_end(std::int64_t batch, const Logs& logs) {
  steps_done_ = batch + 1;
  last_step_end_ = now();
  if (batch == 0) first_step_end_ = last_step_end_;
  if (style_ != ProgressStyle::bar || !is_main_rank() || last_step_end_ - last_paint_ < kPaintInterval)
    return;
  last_paint_ = last_step_end_;
  paint(bar_text({steps_done_, plan().steps_per_epoch, seconds(), seconds_per_step()}, logs, false), false);
}

void ProgressBar::on_epoch_end(std::int64_t, Logs& logs) {
  if (!is_main_rank()) return;
  const ProgressState state{steps_done_, plan().steps_per_epoch, seconds(), seconds_per_step()};
  if (style_ == ProgressStyle::bar) {
    paint(bar_text(state, logs, true), true);
  } else {
    std::fputs((line_text(state, logs) + "\n").c_str(), output_);
    std::fflush(output_);
  }
}

double ProgressBar::seconds() const {
  return now() - epoch_start_;
}

double ProgressBar::seconds_per_step() const {
  if (steps_done_ == 0) return 0.0;
  if (steps_done_ == 1) return last_step_end_ - epoch_start_;
  return (last_step_end_ - first_step_end_) / static_cast<double>(steps_done_ - 1);
}

void ProgressBar::paint(const std::string& line, bool final) {
  std::string text = is_terminal_ ? "\r" : painted_width_ > 0 ? "\n" : "";
  text += line;
  if (is_terminal_ && line.size() < painted_width_) text.append(painted_width_ - line.size(), ' ');
  if (final) text += '\n';
  painted_width_ = line.size();
  std::fputs(text.c_str(), output_);
  std::fflush(output_);
}

}  // namespace ronde::inline v0
