/// SameRun: a run that goes on keeps the learning rate in its checkpoint, so one that was asked for another,
/// or for another warmup, would be told so by nothing; nor one that was given as many samples of other data.
/// It is refused as any option is that makes it another run.
#pragma once

#include <string>

#include <ronde/data/dataset.h>
#include <ronde/models/callback.h>

#include "common/recipe.h"
#include "common/train_options.h"

namespace ronde::apps {

class SameRun : public Callback {
 public:
  /// Reads some samples of `train`, in a few milliseconds.
  SameRun(const TrainOptions& options, const TrainPlan& plan, const Dataset& train);

  std::string state_name() const override { return "rate_of_the_run"; }  // as at first, for older files
  CallbackState state() const override;
  /// UsageError when the run to go on with was given something else.
  void require_same_run(const CallbackState& state) const override;

 private:
  double rate_;
  std::int64_t warmup_epochs_;
  std::string data_;  // a hash
};

}  // namespace ronde::apps
