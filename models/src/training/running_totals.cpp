#include "training/running_totals.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

void Totals::append_to(Logs& logs, const std::string& prefix) const {
  logs.set(prefix + "loss", loss.value());
  for (const auto& [name, state] : metrics) logs.set(prefix + name, state.value());
}

RunningTotals::RunningTotals(Backend& backend, const std::vector<std::shared_ptr<Metric>>& metrics)
    : metrics_(&metrics),
      loss_sum_(Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend})),
      addend_(Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend})) {
  reset();
}

void RunningTotals::reset() {
  loss_sum_.fill(0.0);
  samples_ = 0;
  for (const auto& metric : *metrics_) metric->reset();
}

void RunningTotals::add(const Tensor& loss_sum, const Tensor& outputs, const Tensor& targets,
                        std::int64_t samples) {
  addend_.copy_from(loss_sum);
  loss_sum_.backend().accumulate(loss_sum_, addend_, 1.0);
  samples_ += samples;
  for (const auto& metric : *metrics_) metric->update(outputs, targets);
}

Totals RunningTotals::local() const {
  Totals totals{{loss_sum_.item(), static_cast<double>(samples_)}, {}};
  for (const auto& metric : *metrics_) totals.metrics.emplace_back(metric->name(), metric->state());
  return totals;
}

Totals RunningTotals::reduced(Communicator& communicator) const {
  Totals totals = local();
  std::vector<MetricState*> states{&totals.loss};
  for (auto& [name, state] : totals.metrics) states.push_back(&state);

  std::vector<double> values;
  for (const MetricState* state : states) values.insert(values.end(), {state->sum, state->count});
  const Tensor data = Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values);
  communicator.allreduce(data).wait();
  values = data.to_vector<double>();
  for (std::size_t i = 0; i < states.size(); ++i) *states[i] = {values[2 * i], values[2 * i + 1]};
  return totals;
}

}  // namespace ronde::inline v0
