/// Preemption: a training that has to give way saves where it stands, and ends, to be started again.
///
///     catch_preemption_signals();                               // early in main
///     Preemption preemption({.filepath = "run/on-signal.h5"});
///     model.fit(train, {.callbacks = {&checkpoints, &preemption}});
///
/// SIGUSR1: saves a checkpoint and goes on. SIGUSR2 and SIGTERM, and an end time that comes near: saves one,
/// and `fit` throws a CollectiveError with the status `saved` (75) on all ranks, so that `run_main` ends with
/// it. What was saved goes on bit for bit (FitOptions::resume). A signal to any one rank counts for all: they
/// hear of it with the next gradients and act after the same step, so looking costs no communication.
///
/// Ctrl-C (SIGINT) ends a process as ever, unless `on_interrupt` is given: then, while `fit` runs, it saves
/// too, and the status is `interrupted` (130); a second one ends the process at once.
///
/// Give it to `fit` as the last callback. mpirun passes USR1 and USR2 on at once, but TERM only 1 s before it
/// kills the ranks; a second TERM, seconds later, ends the process as if nobody had
/// caught it.
#pragma once

#include <string>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

/// From here on USR1, USR2 and TERM end no process any more, but are remembered for `Preemption`.
RONDE_API void catch_preemption_signals();

struct PreemptionOptions {
  std::string filepath = {};  ///< replaced by each save
  /// Seconds since 1970 (Slurm's SLURM_JOB_END_TIME); 0: none. The training ends so early that there is time
  /// for saving three times over, and for three of its longest steps: a save counts as it took last, 0.3 s
  /// at least, and 2 s before anything was saved.
  double end_time = 0.0;
  /// Called in the handler of the first SIGINT: only what is safe in one. A process that ignores SIGINT, as
  /// those in a shell's background do, goes on ignoring it.
  void (*on_interrupt)() = nullptr;
};

class RONDE_API Preemption : public Callback {
 public:
  explicit Preemption(PreemptionOptions options);
  ~Preemption() override;
  Preemption(const Preemption&) = delete;
  Preemption& operator=(const Preemption&) = delete;

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_end(const Logs& logs) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  void on_save_point(SavePoint& point) override;

 private:
  bool is_time(double now) const;

  PreemptionOptions options_;
  double save_seconds_ = 0.0;
  double last_step_ = 0.0;     // when it ended; 0: there was none
  double longest_step_ = 0.0;  // seconds, from the second on
};

}  // namespace ronde::inline v0
