/// LenientCallback: another callback whose files are worth less than the training. When they can no longer be
/// written, because the disk is full, say, rank 0 says so on stderr, and training goes on without it.
///
/// Where such a file is another run's, a training that is resumed from elsewhere begins it anew.
#pragma once

#include <memory>

#include <ronde/models/callback.h>

namespace ronde::apps {

enum class LogFile { continued, begun_anew };

class LenientCallback : public Callback {
 public:
  /// `when_resumed`: what becomes of the file then.
  LenientCallback(std::unique_ptr<Callback> inner, LogFile when_resumed)
      : inner_(std::move(inner)), when_resumed_(when_resumed) {}

  /// What fails here fails before any work, and ends the run.
  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_end(const Logs& logs) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  bool wants_batch_logs() const override { return works_ && inner_->wants_batch_logs(); }
  void on_test_begin() override;
  void on_test_end(const Logs& logs) override;

  std::string state_name() const override { return inner_->state_name(); }
  CallbackState state() const override { return inner_->state(); }
  void require_same_run(const CallbackState& state) const override { inner_->require_same_run(state); }
  void restore(const CallbackState& state) override { inner_->restore(state); }

 private:
  template <class F>
  void attempt(F&& f);

  std::unique_ptr<Callback> inner_;
  LogFile when_resumed_;
  bool works_ = true;
};

}  // namespace ronde::apps
