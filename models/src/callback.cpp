#include <ronde/models/callback.h>

namespace ronde::inline v0 {

void Callback::attach(Model& model, const TrainingPlan& plan) {
  model_ = &model;
  plan_ = plan;
}

void Callback::on_train_begin(Model&, const TrainingPlan&) {}
void Callback::on_train_end(const Logs&) {}
void Callback::on_epoch_begin(std::int64_t) {}
void Callback::on_epoch_end(std::int64_t, Logs&) {}
void Callback::on_train_batch_begin(std::int64_t) {}
void Callback::on_train_batch_end(std::int64_t, const Logs&) {}
void Callback::on_test_begin() {}
void Callback::on_test_end(const Logs&) {}
void Callback::on_save_point(SavePoint&) {}
void Callback::require_same_run(const CallbackState&) const {}
void Callback::restore(const CallbackState&) {}

std::string Callback::resume_from(const std::function<void(const std::string&)>&) const {
  return {};
}

bool Callback::is_main_rank() const {
  return model().communicator().rank() == 0;
}

}  // namespace ronde::inline v0
