#include "callbacks/learning_rate.h"

namespace ronde::inline v0 {

void log_learning_rate(Logs& logs, const Optimizer& optimizer) {
  logs.set(kLearningRateKey, optimizer.current_learning_rate());
}

void change_learning_rate(Optimizer& optimizer, double rate, bool momentum_correction) {
  const double old = optimizer.learning_rate();
  optimizer.set_learning_rate(rate);
  optimizer.scale_momentum_once(momentum_correction && old != 0.0 ? rate / old : 1.0);
}

}  // namespace ronde::inline v0
