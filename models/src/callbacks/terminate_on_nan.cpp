#include <ronde/models/terminate_on_nan.h>

#include <cmath>
#include <cstdio>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

void TerminateOnNaN::on_train_begin(Model&, const TrainingPlan&) {
  flag_ = Tensor::zeros({1}, {.dtype = DType::f64, .backend = &backend("cpu")});
  stopped_ = false;
}

void TerminateOnNaN::on_train_batch_end(std::int64_t batch, const Logs& logs) {
  if (stopped_) return;
  const double* loss = logs.find("loss");  // of this rank since the epoch began: once NaN, always NaN
  double& flag = flag_.data<double>()[0];
  flag = loss && !std::isfinite(*loss) ? 1.0 : 0.0;
  model().communicator().allreduce(flag_, Reduction::max).wait();
  if (flag == 0.0) return;
  const std::string text = cat("Batch ", batch, ": Invalid loss, terminating training");
  if (options_.raise_error)
    throw CollectiveError("[terminate_on_nan] " + text, ExitStatus::non_finite, model().communicator(), 0);
  if (is_main_rank()) std::fputs((text + "\n").c_str(), stdout);
  stopped_ = true;
  model().stop_training();
}

}  // namespace ronde::inline v0
