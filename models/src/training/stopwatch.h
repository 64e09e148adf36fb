#pragma once

#include <cstdint>

#include <ronde/core/clock.h>
#include <ronde/models/model.h>

namespace ronde::inline v0 {

/// Time and samples of training steps. The first step of a fit prepares much that later ones find ready, so
/// speeds leave it out.
class Stopwatch {
 public:
  void start_epoch() { epoch_ = {}; }
  void start() { begin_ = steady_seconds(); }
  /// This rank's own part of the step is done; what follows waits for others.
  void mark() { own_seconds_ = since_start(); }
  /// From `start` to `mark`.
  double own_seconds() const { return own_seconds_; }
  /// Ends what `start` began: a step that took this many samples on all ranks together.
  void stop(std::int64_t samples) {
    seconds_ = since_start();
    for (Interval* interval : {&epoch_, &all_}) interval->add(seconds_, samples, first_step_);
    first_step_ = false;
  }
  /// From `start` to `stop`.
  double seconds() const { return seconds_; }
  /// Writes the times and counts of the epoch so far, and of the fit.
  void report(TrainingProgress& progress) const {
    progress.epoch_steps = epoch_.steps;
    progress.epoch_samples = epoch_.samples;
    progress.epoch_seconds = epoch_.seconds;
    progress.epoch_images_per_second = epoch_.speed();
    progress.train_seconds = all_.seconds;
    progress.images_per_second = all_.speed();
  }

 private:
  double since_start() const { return steady_seconds() - begin_; }

  struct Interval {
    double seconds = 0.0, counted_seconds = 0.0;
    std::int64_t samples = 0, counted_samples = 0, steps = 0;

    void add(double time, std::int64_t count, bool is_first) {
      seconds += time;
      samples += count;
      ++steps;
      if (is_first) return;
      counted_seconds += time;
      counted_samples += count;
    }
    double speed() const {
      return counted_seconds > 0 ? static_cast<double>(counted_samples) / counted_seconds : 0.0;
    }
  };

  double begin_ = 0.0;
  double own_seconds_ = 0.0, seconds_ = 0.0;
  Interval epoch_, all_;
  bool first_step_ = true;
};

}  // namespace ronde::inline v0
