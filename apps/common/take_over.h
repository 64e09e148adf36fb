/// TakeOver: what a run does to the files that others left at its place. It does so at its first step: a
/// command that is refused before leaves all as it was.
///
/// Damaged checkpoints are renamed, as the run may write others of the same names. Where an earlier run's
/// checkpoints lie, which may be more advanced, a new run leaves their names (EarlierFiles): from then on
/// `--resume auto` goes on with the new one. A name stays until this run, or one that goes on with it, has
/// written a file of that name.
#pragma once

#include <optional>

#include <ronde/models/callback.h>

#include "common/earlier_files.h"
#include "common/resume.h"
#include "common/run_files.h"

namespace ronde::apps {

class TakeOver : public Callback {
 public:
  /// Both must outlive it.
  TakeOver(const RunStart& start, const RunFiles& files) : start_(start), files_(files) {}

  void on_train_batch_begin(std::int64_t batch) override;
  void on_save_point(SavePoint& point) override;

 private:
  const RunStart& start_;
  const RunFiles& files_;
  bool done_ = false;
  std::optional<EarlierFiles> earlier_;  // where there are some; from then on of the thread that writes
};

}  // namespace ronde::apps
