/// TerminateOnNaN: ends training after the first step that makes the loss NaN or infinite, as Keras' callback
/// of that name does. Without it `fit` notices at the end of the epoch, and throws; FitOptions::non_finite
/// looks at each step before the weights change, costs less, and says where the NaN came from.
///
///     TerminateOnNaN guard;                          // the epoch ends early, its hooks run, fit returns
///     TerminateOnNaN strict({.raise_error = true});  // throws at once, before anything can save the weights
///
/// The loss of one rank decides for all: after each step the ranks agree in an all-reduce of one number, and
/// each waits for its device to read its own. That is the price of using it; `fit` alone does neither.
#pragma once

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct TerminateOnNaNOptions {
  /// A CollectiveError, with the status non_finite, on all ranks, instead of a stop.
  bool raise_error = false;
};

class RONDE_API TerminateOnNaN : public Callback {
 public:
  explicit TerminateOnNaN(TerminateOnNaNOptions options = {}) : options_(options) {}

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  bool wants_batch_logs() const override { return true; }

  /// Whether it ended the training.
  bool stopped() const { return stopped_; }

 private:
  TerminateOnNaNOptions options_;
  Tensor flag_;  // f64 (1): 1 when the loss of some rank is not finite
  bool stopped_ = false;
};

}  // namespace ronde::inline v0
