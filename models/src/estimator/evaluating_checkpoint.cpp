#include "estimator/evaluating_checkpoint.h"

#include <utility>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

EvaluatingCheckpoint::EvaluatingCheckpoint(ModelCheckpointOptions options, EvaluationPace pace,
                                           std::function<void()> evaluate)
    : ModelCheckpoint(std::move(options)), pace_(pace), evaluate_(std::move(evaluate)) {}

void EvaluatingCheckpoint::on_save_point(SavePoint& point) {
  const std::size_t before = point.orders().size();
  ModelCheckpoint::on_save_point(point);
  has_saved_ = has_saved_ || point.orders().size() > before;
}

void EvaluatingCheckpoint::on_train_batch_begin(std::int64_t batch) {
  if (std::exchange(has_saved_, false) && evaluate_ && may_evaluate()) evaluate_();
  ModelCheckpoint::on_train_batch_begin(batch);  // last: it measures the step
}

/// Rank 0's clock decides for all.
bool EvaluatingCheckpoint::may_evaluate() {
  const Clock::time_point now = Clock::now();
  const auto passed = [&](Clock::time_point since, double secs) {
    return std::chrono::duration<double>(now - since).count() >= secs;
  };
  const bool due = passed(begin_, pace_.start_delay_secs) && (!last_ || passed(*last_, pace_.throttle_secs));
  const bool agreed = !broadcast_string(model().communicator(), due ? "due" : "").empty();
  if (agreed) last_ = now;
  return agreed;
}

}  // namespace ronde::inline v0
