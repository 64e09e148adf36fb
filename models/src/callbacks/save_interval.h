/// SaveInterval: how many steps should lie between two saves, from what a save and a step are seen to cost.
///
/// More saves cost more time; fewer lose more work when the job fails. With a failure every `mtbf` seconds on
/// average, least is lost at sqrt(2 * cost * mtbf) and a little less (Daly, "A higher order estimate of the
/// optimum checkpoint interval for restart dumps", 2006). On one rank; it is up to its user that all agree.
#pragma once

#include <chrono>
#include <cstdint>

namespace ronde::inline v0 {

/// Seconds of training between two saves of `cost` seconds.
double best_save_interval(double cost, double mtbf);

class SaveInterval {
 public:
  explicit SaveInterval(double mtbf_seconds) : mtbf_(mtbf_seconds) {}

  void begin_step() { step_begin_ = Clock::now(); }
  void end_step() { add_step(std::chrono::duration<double>(Clock::now() - step_begin_).count()); }
  void add_step(double seconds);
  /// Training paused for the snapshot of a save.
  void add_pause(double seconds);
  /// The processor time that encoding and writing took beside the training.
  void add_write(double seconds) { write_ = seconds; }

  /// After how many steps to save next, when it was `before` until now: a few as long as nothing is known,
  /// and never very many more than before.
  std::int64_t next(std::int64_t before);

 private:
  using Clock = std::chrono::steady_clock;

  double mtbf_;
  Clock::time_point step_begin_;
  double step_seconds_ = 0.0;  // since the save before
  std::int64_t steps_ = 0;     // since then
  double pause_ = 0.0, write_ = 0.0;
};

/// Steps before the first save.
inline constexpr std::int64_t kFirstSaveInterval = 20;

}  // namespace ronde::inline v0
