/// SameRate: a run that goes on keeps the learning rate in its checkpoint, so one that was asked for another,
/// or for another warmup, would be told so by nothing. It is refused as any option is that makes it another
/// run.
#pragma once

#include <ronde/models/callback.h>

#include "common/recipe.h"
#include "common/train_options.h"

namespace ronde::apps {

class SameRate : public Callback {
 public:
  SameRate(const TrainOptions& options, const TrainPlan& plan)
      : rate_(plan.learning_rate), warmup_epochs_(options.warmup_epochs) {}

  std::string state_name() const override { return "rate_of_the_run"; }
  CallbackState state() const override;
  /// UsageError when the run to go on with was given something else.
  void require_same_run(const CallbackState& state) const override;

 private:
  double rate_;
  std::int64_t warmup_epochs_;
};

}  // namespace ronde::apps
