#include <ronde/models/lambda_callback.h>

namespace ronde::inline v0 {

namespace {

template <class Function, class... Arguments>
void call(const Function& function, Arguments&... arguments) {
  if (function) function(arguments...);
}

}  // namespace

void LambdaCallback::on_train_begin(Model& model, const TrainingPlan& plan) {
  call(options_.on_train_begin, model, plan);
}
void LambdaCallback::on_train_end(const Logs& logs) {
  call(options_.on_train_end, logs);
}
void LambdaCallback::on_epoch_begin(std::int64_t epoch) {
  call(options_.on_epoch_begin, epoch);
}
void LambdaCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  call(options_.on_epoch_end, epoch, logs);
}
void LambdaCallback::on_train_batch_begin(std::int64_t batch) {
  call(options_.on_train_batch_begin, batch);
}
void LambdaCallback::on_train_batch_end(std::int64_t batch, const Logs& logs) {
  call(options_.on_train_batch_end, batch, logs);
}
void LambdaCallback::on_test_begin() {
  call(options_.on_test_begin);
}
void LambdaCallback::on_test_end(const Logs& logs) {
  call(options_.on_test_end, logs);
}

}  // namespace ronde::inline v0
