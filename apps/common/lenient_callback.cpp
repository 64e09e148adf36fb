#include "common/lenient_callback.h"

#include <cstdio>

namespace ronde::apps {

// An error of files is thrown on all ranks alike, so they all drop the callback.
template <class F>
void LenientCallback::attempt(F&& f) {
  if (!works_) return;
  try {
    f();
  } catch (const Error& error) {
    if (error.status() != ExitStatus::io) throw;
    works_ = false;
    if (is_main_rank())
      std::fprintf(stderr, "ronde: warning: %s; training goes on without this log\n", error.what());
  }
}

void LenientCallback::on_train_begin(Model& model, const TrainingPlan& plan) {
  TrainingPlan told = plan;
  told.resumed = plan.resumed && when_resumed_ == LogFile::continued;
  inner_->attach(model, told);
  inner_->on_train_begin(model, told);
}

void LenientCallback::on_train_end(const Logs& logs) {
  attempt([&] { inner_->on_train_end(logs); });
}
void LenientCallback::on_epoch_begin(std::int64_t epoch) {
  attempt([&] { inner_->on_epoch_begin(epoch); });
}
void LenientCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  attempt([&] { inner_->on_epoch_end(epoch, logs); });
}
void LenientCallback::on_train_batch_begin(std::int64_t batch) {
  attempt([&] { inner_->on_train_batch_begin(batch); });
}
void LenientCallback::on_train_batch_end(std::int64_t batch, const Logs& logs) {
  attempt([&] { inner_->on_train_batch_end(batch, logs); });
}
void LenientCallback::on_test_begin() {
  attempt([&] { inner_->on_test_begin(); });
}
void LenientCallback::on_test_end(const Logs& logs) {
  attempt([&] { inner_->on_test_end(logs); });
}

}  // namespace ronde::apps
