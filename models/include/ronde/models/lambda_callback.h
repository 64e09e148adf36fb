/// LambdaCallback: a callback from functions; those not given do nothing.
///
///     LambdaCallback decay({.on_epoch_begin = [&](std::int64_t epoch) { ... }});
#pragma once

#include <functional>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct LambdaCallbackOptions {
  std::function<void(Model&, const TrainingPlan&)> on_train_begin = {};
  std::function<void(const Logs&)> on_train_end = {};
  std::function<void(std::int64_t epoch)> on_epoch_begin = {};
  std::function<void(std::int64_t epoch, Logs&)> on_epoch_end = {};
  std::function<void(std::int64_t batch)> on_train_batch_begin = {};
  std::function<void(std::int64_t batch, const Logs&)> on_train_batch_end = {};
  std::function<void()> on_test_begin = {};
  std::function<void(const Logs&)> on_test_end = {};
  bool wants_batch_logs = false;
};

class RONDE_API LambdaCallback : public Callback {
 public:
  explicit LambdaCallback(LambdaCallbackOptions options) : options_(std::move(options)) {}

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_end(const Logs& logs) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  bool wants_batch_logs() const override { return options_.wants_batch_logs; }
  void on_test_begin() override;
  void on_test_end(const Logs& logs) override;

 private:
  LambdaCallbackOptions options_;
};

}  // namespace ronde::inline v0
