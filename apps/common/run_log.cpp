#include "common/run_log.h"

namespace ronde::apps {

void RunLog::on_train_begin(Model& model, const TrainingPlan& plan) {
  TrainingPlan told = plan;
  told.resumed = plan.resumed && when_resumed_ == LogFile::continued;
  log_->attach(model, told);
  log_->on_train_begin(model, told);
}

}  // namespace ronde::apps
