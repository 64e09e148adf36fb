#include "training/one_plan.h"

#include "json/json.h"
#include "training/run_plan.h"

namespace ronde::inline v0 {

void require_one_plan(const Model::State& model, ConfigDict options, const TrainingPlan& plan) {
  Communicator& ranks = *model.communicator;
  if (ranks.size() == 1) return;
  options.emplace_back("epochs", plan.epochs);
  options.emplace_back("initial epoch", plan.initial_epoch);
  options.emplace_back("last step", plan.last_step);
  options.emplace_back("learning rate", model.optimizer->optimizer().learning_rate());
  const ConfigValue of_first = from_json(broadcast_string(ranks, to_json(options)));
  collectively(ranks, [&] {
    const std::string differences = describe_differences(of_first.as_dict(), options);
    require<UsageError>(differences.empty(), "[fit] rank ", ranks.rank(), " was asked for ", differences,
                        ", which rank 0 has");
  });
}

}  // namespace ronde::inline v0
