#include "common/warmup.h"

namespace ronde::apps {

void Warmup::on_train_batch_begin(std::int64_t batch) {
  const std::int64_t steps = plan().steps_per_epoch;
  const std::int64_t done = epoch_ * steps + batch + 1;
  const std::int64_t length = rates_.warmup_epochs * steps;
  if (done > length) return;
  const double share = static_cast<double>(done) / static_cast<double>(length);
  model().optimizer().set_learning_rate(rates_.base + (rates_.scaled - rates_.base) * share);
}

}  // namespace ronde::apps
