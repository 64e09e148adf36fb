#include "training/running_totals.h"

#include <algorithm>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/regularization_loss.h>

#include "state/weighted_metric.h"

namespace ronde::inline v0 {

namespace {

void add_to(std::vector<double>& sums, const std::vector<double>& values) {
  require(sums.size() == values.size(), "[fit] ", values.size(), " partial sums instead of ", sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
}

/// What metrics see of a batch, with the weights of its rows for those that are told of the samples' own and
/// for all others.
struct MetricRows {
  Tensor outputs, targets;
  Tensor sample_weights, weights = {};
};

/// With a mask each step is a row, which counts or does not.
MetricRows rows_for_metrics(const BatchOutcome& batch) {
  if (!batch.mask.defined()) return {batch.outputs, batch.targets, batch.weights};
  const NoGrad no_grad;
  const Shape steps = batch.mask.shape();
  const Tensor mask = batch.mask.to(batch.outputs.backend());
  Variable weights(mask);
  if (batch.weights.defined())
    weights = mask.to(batch.weights.dtype()) * reshape(batch.weights, {steps[0], 1});
  return {batch.outputs.reshape(batch.outputs.shape().steps_as_batch()),
          batch.targets.reshape(batch.targets.shape().steps_as_batch()),
          weights.value().reshape({steps.count()}), mask.reshape({steps.count()})};
}

void add_to(MetricSums& sums, const Metric& metric) {
  const MetricSums values = metric.sums();
  require<UsageError>(values.size() == sums.size(), "[metrics] ", metric.name(), " gives ", values.size(),
                      " sums, and before its first batch gave ", sums.size(),
                      ": it has to be as many always");
  add_to(sums, values);
}

}  // namespace

void Totals::append_to(Logs& logs, const std::vector<std::string>& names) const {
  logs.set("loss", loss());
  for (std::size_t i = 0; i < metrics.size(); ++i)
    logs.set(names[i], metrics[i].first->value(metrics[i].second));
}

RunningTotals::RunningTotals(Backend& backend, const std::vector<std::shared_ptr<Metric>>& metrics,
                             const VirtualShards& shards, const ParameterArena* weights)
    : metrics_(&metrics),
      shards_(shards),
      loss_sum_(Tensor::zeros({}, {.dtype = DType::f64, .backend = &backend})),
      weights_(weights && weights->is_regularized() ? weights : nullptr) {
  if (weights_) penalty_ = Tensor::zeros({}, loss_sum_.options());
  for (const auto& metric : metrics) held_.emplace_back(metric->sums().size());
  reset();
}

void RunningTotals::reset() {
  clear();
  penalty_version_.reset();
  of_shards_.assign(static_cast<std::size_t>(shards_.last - shards_.first),
                    std::vector<double>(width(), 0.0));
}

std::size_t RunningTotals::width() const {
  std::size_t width = 2;
  for (const MetricSums& sums : held_) width += sums.size();
  return width;
}

// All but the closed shards.
void RunningTotals::clear() {
  loss_sum_.fill(0.0);
  samples_ = 0;
  for (MetricSums& sums : held_) sums.assign(sums.size(), 0.0);
  for (const auto& metric : *metrics_) metric->reset();
}

void RunningTotals::add(const BatchOutcome& batch) {
  const std::int64_t samples = batch.outputs.size(0);
  Backend& backend = loss_sum_.backend();
  backend.accumulate(loss_sum_, batch.loss_sum, 1.0);
  if (weights_) backend.accumulate(loss_sum_, penalty(), static_cast<double>(samples));
  samples_ += samples;
  if (metrics_->empty()) return;
  const MetricRows rows = rows_for_metrics(batch);
  for (const auto& metric : *metrics_)
    if (is_weighted(*metric))
      metric->update_weighted(rows.outputs, rows.targets, rows.sample_weights);
    else if (rows.weights.defined())
      metric->update_weighted(rows.outputs, rows.targets, rows.weights);
    else
      metric->update(rows.outputs, rows.targets);
}

// Once for all pieces of a batch, or all batches of an evaluation.
const Tensor& RunningTotals::penalty() {
  if (penalty_version_ == weights_->version()) return penalty_;
  penalty_.fill(0.0);
  add_regularization_loss(penalty_, *weights_);
  penalty_version_ = weights_->version();
  return penalty_;
}

void RunningTotals::move_loss(const Tensor& to) {
  to.copy_from(loss_sum_);
  loss_sum_.fill(0.0);
  samples_ = 0;
}

void RunningTotals::close_shard(int shard) {
  add_to(of_shards_.at(static_cast<std::size_t>(shard - shards_.first)), values());
  clear();
}

// What no shard was closed over.
std::vector<double> RunningTotals::values() const {
  std::vector<double> values{loss_sum_.item(), static_cast<double>(samples_)};
  for (std::size_t i = 0; i < metrics_->size(); ++i) {
    MetricSums sums = held_[i];
    add_to(sums, *(*metrics_)[i]);
    values.insert(values.end(), sums.begin(), sums.end());
  }
  return values;
}

Totals RunningTotals::named(const std::vector<double>& values) const {
  Totals totals{values[0], values[1], {}};
  const double* next = values.data() + 2;
  for (std::size_t i = 0; i < metrics_->size(); ++i) {
    const double* begin = std::exchange(next, next + held_[i].size());
    totals.metrics.emplace_back((*metrics_)[i].get(), MetricSums(begin, next));
  }
  return totals;
}

Totals RunningTotals::local() const {
  std::vector<double> sums = values();
  for (const std::vector<double>& row : of_shards_) add_to(sums, row);
  return named(sums);
}

void RunningTotals::lend_metrics() {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    add_to(held_[i], *(*metrics_)[i]);
    (*metrics_)[i]->reset();
  }
}

Totals RunningTotals::reduced(Communicator& communicator) const {
  if (shards_.total == 0) {
    std::vector<double> sums = values();
    allreduce_values(communicator, sums);
    return named(sums);
  }
  std::vector<double> sums(width(), 0.0);
  for (const std::vector<double>& row : gathered(communicator)) add_to(sums, row);
  return named(sums);
}

std::vector<std::vector<double>> RunningTotals::gathered(Communicator& communicator) const {
  const std::vector<std::vector<double>> mine =
      shards_.total == 0 ? std::vector<std::vector<double>>{values()} : of_shards_;
  const auto width = static_cast<std::int64_t>(mine.front().size());
  std::vector<std::int64_t> counts;
  std::int64_t rows = 0;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const VirtualShards theirs =
        shards_.total == 0 ? VirtualShards() : VirtualShards(shards_.total, rank, communicator.size());
    counts.push_back(shards_.total == 0 ? 1 : theirs.last - theirs.first);
    rows += counts.back();
  }
  std::vector<double> flat;
  for (const std::vector<double>& row : mine) flat.insert(flat.end(), row.begin(), row.end());
  const Tensor in = Tensor::from<double>({static_cast<std::int64_t>(mine.size()), width}, flat);
  const Tensor all = Tensor::empty({rows, width}, in.options());
  communicator.allgatherv(all, in, counts).wait();
  std::vector<std::vector<double>> result;
  for (std::int64_t i = 0; i < rows; ++i) result.push_back(all.slice(0, i, i + 1).to_vector<double>());
  return result;
}

void RunningTotals::restore(const std::vector<std::vector<double>>& rows, const Communicator& communicator) {
  reset();
  require<InputError>(!rows.empty(), "[fit] cannot resume: the sums of the epoch so far are missing");
  if (shards_.total > 0) {
    require<InputError>(rows.size() == static_cast<std::size_t>(shards_.total),
                        "[fit] cannot resume: sums of ", counted(rows.size(), "virtual shard"),
                        " instead of ", shards_.total);
    for (int shard = shards_.first; shard < shards_.last; ++shard)
      add_to(of_shards_[static_cast<std::size_t>(shard - shards_.first)],
             rows[static_cast<std::size_t>(shard)]);
    return;
  }
  std::vector<double> sums(width(), 0.0);
  for (auto row = static_cast<std::size_t>(communicator.rank()); row < rows.size();
       row += static_cast<std::size_t>(communicator.size()))
    add_to(sums, rows[row]);
  assign(sums);
}

// The metrics are empty.
void RunningTotals::assign(const std::vector<double>& values) {
  loss_sum_.fill(values[0]);
  samples_ = static_cast<std::int64_t>(values[1]);
  const double* next = values.data() + 2;
  for (MetricSums& sums : held_) {
    std::copy_n(next, sums.size(), sums.begin());
    next += sums.size();
  }
}

RunningTotals::Mark RunningTotals::mark() const {
  Mark mark = of_shards_;
  mark.push_back(values());
  return mark;
}

// A penalty that is known may be one that a capture has left to a graph, or that the graph to come has to
// compute although the weights are the same.
void RunningTotals::return_to(const Mark& mark) {
  clear();
  penalty_version_.reset();
  of_shards_.assign(mark.begin(), mark.end() - 1);
  assign(mark.back());
}

RunningTotals::HostMark RunningTotals::host_mark() const {
  HostMark mark{samples_, {}};
  for (const auto& metric : *metrics_)
    mark.of_metrics.push_back(dynamic_cast<const Accuracy&>(*metric).host_counts());
  return mark;
}

void RunningTotals::return_to(const HostMark& mark) {
  samples_ = mark.samples;
  for (std::size_t i = 0; i < metrics_->size(); ++i)
    dynamic_cast<Accuracy&>(*(*metrics_)[i]).return_to(mark.of_metrics[i]);
}

double RunningTotals::loss_sum() const {
  return loss_sum_.item();
}

}  // namespace ronde::inline v0
