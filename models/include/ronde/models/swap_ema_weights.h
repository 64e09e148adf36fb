/// SwapEMAWeights: validates with the moving averages of the weights, as Keras' callback of that name does.
///
///     auto adam = std::make_unique<Adam>();
///     adam->set_moving_average({.momentum = 0.999});
///     model.compile({.optimizer = std::move(adam), .loss = ...});
///     SwapEMAWeights swap({.swap_on_epoch = true});
///     ModelCheckpoint best({.filepath = "best.h5", .save_best_only = true});  // by the averages; of the averages
///     model.fit(train, {.validation = &test, .callbacks = {&swap, &best}});
///
/// Exchanges weights and averages before a validation, and back behind it. With `swap_on_epoch` also from the
/// end of an epoch until the next one begins: what is saved then are the averages, and a run that is resumed
/// from such a file goes on with the trained weights, which lie beside them. `fit` itself ends with the
/// averages. An optimizer without a moving average is a UsageError.
#pragma once

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct SwapEMAWeightsOptions {
  bool swap_on_epoch = false;
};

class RONDE_API SwapEMAWeights : public Callback {
 public:
  explicit SwapEMAWeights(SwapEMAWeightsOptions options = {}) : options_(options) {}

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_test_begin() override;
  void on_test_end(const Logs& logs) override;

 private:
  /// Does nothing where it is so already.
  void use_averages(bool wanted);

  SwapEMAWeightsOptions options_;
};

}  // namespace ronde::inline v0
