#include <ronde/nn/output_losses.h>

#include <algorithm>

#include <ronde/core/ops.h>
#include <ronde/nn/loss_metric.h>

namespace ronde::inline v0 {

/// Where the outputs lie in rows of outputs, and the targets of those with a loss in rows of targets.
struct OutputLayout {
  struct Target {
    std::size_t output;
    bool is_label;
  };
  std::vector<NetPart> outputs;
  std::vector<Shape> output_shapes, target_shapes;
  std::vector<Target> targets;

  const std::string& name(std::size_t i) const { return outputs[targets[i].output].name; }
  /// What the loss or the metric of output `i` of those with a loss looks at.
  Variable output_in(const Variable& rows, std::size_t i) const {
    return split_rows(rows, output_shapes)[targets[i].output];
  }
  Tensor target_in(const Tensor& rows, std::size_t i) const {
    const bool is_alone = targets.size() == 1;  // as it is
    const Tensor target = is_alone ? rows : split_rows(rows, target_shapes)[i].value().contiguous();
    return targets[i].is_label ? target.to(DType::i32) : target;
  }
};

namespace {

std::size_t find_output(const std::vector<NetPart>& outputs, const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == name) return i;
    known += cat(known.empty() ? "" : ", ", outputs[i].name);
  }
  throw UsageError(cat("[output_losses] the net has no output \"", name, "\"; it has ", known));
}

/// A metric of one output.
class OutputMetric final : public Metric {
 public:
  OutputMetric(std::shared_ptr<const OutputLayout> layout, std::size_t i, std::shared_ptr<Metric> metric)
      : layout_(std::move(layout)), i_(i), metric_(std::move(metric)) {}

  /// Keras 2 writes "policy_accuracy" in a file, Keras 3 "accuracy".
  std::string name() const override {
    const std::string output = layout_->name(i_) + "_", own = metric_->name();
    return own.starts_with(output) ? own : output + own;
  }
  void expect_outputs(const Shape&) override {
    metric_->expect_outputs(layout_->output_shapes[layout_->targets[i_].output]);
  }
  void update(const Tensor& output, const Tensor& target) override {
    metric_->update(part(output), layout_->target_in(target, i_));
  }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override {
    metric_->update_weighted(part(output), layout_->target_in(target, i_), weights);
  }
  MetricSums sums() const override { return metric_->sums(); }
  void reset() override { metric_->reset(); }
  double value(const MetricSums& sums) const override { return metric_->value(sums); }
  bool counts_correct() const override { return metric_->counts_correct(); }
  bool sums_are_counts() const override { return metric_->sums_are_counts(); }
  MetricDirection direction() const override { return metric_->direction(); }

 private:
  Tensor part(const Tensor& rows) const { return layout_->output_in(rows, i_).value().contiguous(); }

  std::shared_ptr<const OutputLayout> layout_;
  std::size_t i_;
  std::shared_ptr<Metric> metric_;
};

}  // namespace

OutputLosses::OutputLosses(std::vector<NetPart> outputs, std::vector<OutputLoss> losses) {
  std::vector<OutputLoss> of_output(outputs.size());
  for (OutputLoss& loss : losses) {
    OutputLoss& place = of_output[find_output(outputs, loss.output)];
    require<UsageError>(loss.loss != nullptr, "[output_losses] the loss of ", loss.output, " is null");
    require<UsageError>(place.loss == nullptr, "[output_losses] there are two losses of ", loss.output);
    place = std::move(loss);
  }
  auto layout = std::make_shared<OutputLayout>();
  layout->output_shapes = shapes_of(outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (of_output[i].loss == nullptr) continue;
    const Loss& loss = *of_output[i].loss;
    layout->target_shapes.push_back(loss.target_shape(outputs[i].shape));
    layout->targets.push_back({i, loss.takes_labels()});
    losses_.push_back(std::move(of_output[i]));
  }
  require<UsageError>(!losses_.empty(), "[output_losses] no output has a loss");
  layout->outputs = std::move(outputs);
  layout_ = std::move(layout);
}

OutputLosses::~OutputLosses() = default;

Variable OutputLosses::operator()(const Variable& output, const Tensor& target) const {
  const Shape expected = joined_shape(targets()).batch_of(output.size(0));
  require(losses_.size() == 1 || target.shape() == expected, "[output_losses] expects rows of targets, ",
          expected, ", got ", target.shape());
  Variable total;
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const Variable part = layout_->output_in(output, i);
    const Variable loss =
        losses_of_samples(*losses_[i].loss, part, layout_->target_in(target, i)) * losses_[i].weight;
    total = total.defined() ? total + loss : loss;
  }
  return total;
}

std::vector<std::shared_ptr<Metric>> OutputLosses::part_metrics() const {
  std::vector<std::shared_ptr<Metric>> metrics;
  for (std::size_t i = 0; i < losses_.size(); ++i)
    metrics.push_back(
        std::make_shared<OutputMetric>(layout_, i, std::make_shared<LossMetric>(losses_[i].loss, "loss")));
  for (std::size_t i = 0; i < losses_.size(); ++i)
    for (const std::shared_ptr<Metric>& metric : losses_[i].metrics)
      metrics.push_back(std::make_shared<OutputMetric>(layout_, i, metric));
  return metrics;
}

bool OutputLosses::is_repeatable() const {
  return std::all_of(losses_.begin(), losses_.end(), [](const OutputLoss& part) {
    return is_of_known_class(*part.loss) || part.loss->is_repeatable();
  });
}

std::vector<NetPart> OutputLosses::targets() const {
  std::vector<NetPart> parts;
  for (std::size_t i = 0; i < losses_.size(); ++i)
    parts.push_back({layout_->name(i), layout_->target_shapes[i]});
  return parts;
}

const std::vector<NetPart>& OutputLosses::outputs() const {
  return layout_->outputs;
}

}  // namespace ronde::inline v0
