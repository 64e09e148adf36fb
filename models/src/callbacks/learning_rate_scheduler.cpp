#include <ronde/models/learning_rate_scheduler.h>

#include <cmath>
#include <cstdio>

#include <ronde/core/backend.h>

#include "callbacks/learning_rate.h"
#include "callbacks/python_number.h"

namespace ronde::inline v0 {

LearningRateScheduler::LearningRateScheduler(LearningRateSchedulerOptions options)
    : options_(std::move(options)) {
  require<UsageError>(options_.schedule != nullptr, "[learning_rate_scheduler] needs a schedule");
}

void LearningRateScheduler::on_epoch_begin(std::int64_t epoch) {
  // Resumed within the epoch: the optimizer has the rate already.
  if (plan().initial_step > 0 && epoch == plan().initial_epoch) return;
  const double rate = ask(epoch);
  model().optimizer().set_learning_rate(rate);
  if (options_.verbose > 0 && is_main_rank())
    std::fputs(cat("\nEpoch ", epoch + 1, ": LearningRateScheduler setting learning rate to ",
                   python_number(rate), ".\n")
                   .c_str(),
               stdout);
}

double LearningRateScheduler::ask(std::int64_t epoch) {
  const Tensor answer = Tensor::zeros({1}, {.dtype = DType::f64, .backend = &backend("cpu")});
  collectively(model().communicator(), [&] {
    if (is_main_rank())
      answer.data<double>()[0] = options_.schedule(epoch, model().optimizer().learning_rate());
  });
  model().communicator().broadcast(answer).wait();
  const double rate = answer.item();
  require<UsageError>(std::isfinite(rate) && rate >= 0.0, "[learning_rate_scheduler] the schedule gives ",
                      rate, " for epoch ", epoch, ", where a finite number from 0 on was expected");
  return rate;
}

void LearningRateScheduler::on_epoch_end(std::int64_t, Logs& logs) {
  log_learning_rate(logs, model().optimizer());
}

}  // namespace ronde::inline v0
