#include "training/train_step.h"

#include <algorithm>

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

void accumulate_gradients(Model::State& model, const StepData& data, RunningTotals& totals) {
  const Variable outputs = (*model.module)(data.inputs, model.context(true, data.sample_keys));
  const Variable loss = sum((*model.loss)(outputs, data.targets));
  totals.add(loss.value(), outputs.value(), data.targets, data.inputs.size(0));
  loss.backward();
}

std::int64_t train_step(Model::State& model, const StepData& data, std::int64_t micro_batch,
                        RunningTotals& totals) {
  model.arena->zero_gradients();
  const std::int64_t count = data.inputs.size(0);
  const std::int64_t piece = micro_batch > 0 ? micro_batch : count;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t end = std::min(begin + piece, count);
    const StepData part{data.inputs.slice(0, begin, end), data.targets.slice(0, begin, end),
                        data.sample_keys.slice(0, begin, end)};
    if (end == count) {
      accumulate_gradients(model, part, totals);
    } else {
      const DistributedOptimizer::NoSync held_back(*model.optimizer);
      accumulate_gradients(model, part, totals);
    }
  }
  return model.optimizer->step({.samples = count});
}

}  // namespace ronde::inline v0
