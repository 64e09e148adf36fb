/// ProgressBar: what `fit` prints, in Keras 2's words with the speed behind them, on rank 0.
///
///     Epoch 1/3
///     235/469 [==============>...............] - ETA: 4s - loss: 0.3982 - accuracy: 0.8771 - 6740 images/s
///
/// `fit` adds one itself unless FitOptions::verbose is 0. On a terminal the bar is painted over, at most
/// every 0.05 s, and kept within the window's width; elsewhere each painting is a new line, at most every
/// 10 s. Style `lines` prints one line at the end of each epoch. The time of a step counts training only; the
/// first step of each epoch is left out of it, as in Keras. Values while an epoch runs are those of rank 0,
/// at its end those of all ranks. Inputs that are not images (h, w, c) make samples/s.
#pragma once

#include <cstdio>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

enum class ProgressStyle { bar, lines };

struct ProgressBarOptions {
  ProgressStyle style = ProgressStyle::bar;
  std::FILE* output = nullptr;  ///< nullptr: stdout; not closed here
};

class RONDE_API ProgressBar : public Callback {
 public:
  explicit ProgressBar(ProgressBarOptions options = {});
  /// Ends the line of a bar that a failure or a signal left unfinished.
  ~ProgressBar() override;

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  /// True when it is time to paint.
  bool wants_batch_logs() const override;

 private:
  bool is_time_to_paint() const;
  double seconds() const;
  double seconds_per_step() const;
  void paint(const std::string& line, bool final);

  ProgressStyle style_;
  std::FILE* output_;
  bool is_terminal_ = false;
  bool is_line_open_ = false;
  double epoch_start_ = 0.0;
  double first_step_end_ = 0.0;
  double last_step_end_ = 0.0;
  double last_paint_ = 0.0;
  std::int64_t steps_done_ = 0;   // of the epoch, also by a run that was resumed
  std::int64_t steps_timed_ = 0;  // of the epoch, by this run
  std::size_t painted_width_ = 0;
};

}  // namespace ronde::inline v0
