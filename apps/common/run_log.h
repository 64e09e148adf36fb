/// RunLog: a callback that writes a log. Where that log is another run's, a training that is resumed from
/// elsewhere begins it anew.
#pragma once

#include <memory>

#include <ronde/models/callback.h>

namespace ronde::apps {

enum class LogFile { continued, begun_anew };

class RunLog : public Callback {
 public:
  /// `when_resumed`: what becomes of the file then.
  RunLog(std::unique_ptr<Callback> log, LogFile when_resumed)
      : log_(std::move(log)), when_resumed_(when_resumed) {}

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_end(const Logs& logs) override { log_->on_train_end(logs); }
  void on_epoch_begin(std::int64_t epoch) override { log_->on_epoch_begin(epoch); }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override { log_->on_epoch_end(epoch, logs); }
  void on_train_batch_begin(std::int64_t batch) override { log_->on_train_batch_begin(batch); }
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override {
    log_->on_train_batch_end(batch, logs);
  }
  bool wants_batch_logs() const override { return log_->wants_batch_logs(); }
  void on_test_begin() override { log_->on_test_begin(); }
  void on_test_end(const Logs& logs) override { log_->on_test_end(logs); }

 private:
  std::unique_ptr<Callback> log_;
  LogFile when_resumed_;
};

}  // namespace ronde::apps
