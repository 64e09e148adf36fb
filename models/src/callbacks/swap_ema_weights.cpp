#include <ronde/models/swap_ema_weights.h>

namespace ronde::inline v0 {

void SwapEMAWeights::on_train_begin(Model& model, const TrainingPlan&) {
  require<UsageError>(model.optimizer().moving_average().has_value(), "[swap_ema_weights] ",
                      model.optimizer().name(),
                      " keeps no moving average: see Optimizer::set_moving_average");
}

void SwapEMAWeights::use_averages(bool wanted) {
  if (model().optimizer().is_averaged() != wanted) model().swap_average();
}

void SwapEMAWeights::on_test_begin() {
  use_averages(true);
}

void SwapEMAWeights::on_test_end(const Logs&) {
  use_averages(false);
}

void SwapEMAWeights::on_epoch_end(std::int64_t, Logs&) {
  if (options_.swap_on_epoch) use_averages(true);
}

void SwapEMAWeights::on_epoch_begin(std::int64_t) {
  use_averages(false);
}

}  // namespace ronde::inline v0
