#include <ronde/nn/output_losses.h>

#include <algorithm>

#include <ronde/nn/forwarding_metric.h>
#include <ronde/nn/loss_metric.h>

#include "config/known_names.h"

namespace ronde::inline v0 {

/// What rows of outputs consist of, and rows of targets: those of the outputs with a loss.
struct OutputLayout {
  struct Place {
    std::size_t output;
    bool is_label;
  };
  std::vector<NetPart> outputs, targets;
  std::vector<Place> places;  // of each of `targets`

  /// What the losses look at.
  std::vector<Tensor> split_targets(const Tensor& rows) const {
    std::vector<Tensor> split{rows};  // of one alone as they are
    if (targets.size() > 1) {
      split.clear();
      for (const Variable& part : split_rows(rows, targets)) split.push_back(part.value().contiguous());
    }
    for (std::size_t i = 0; i < split.size(); ++i)
      if (places[i].is_label) split[i] = split[i].to(DType::i32);
    return split;
  }
};

namespace {

std::size_t find_output(const std::vector<NetPart>& outputs, const std::string& name) {
  std::vector<std::string> names;
  for (const NetPart& output : outputs) names.push_back(output.name);
  const auto found = std::find(names.begin(), names.end(), name);
  require<UsageError>(found != names.end(), "[output_losses] ", unknown_name("output", name, names));
  return static_cast<std::size_t>(found - names.begin());
}

/// A metric of one of the outputs with a loss.
class OutputMetric final : public ForwardingMetric {
 public:
  OutputMetric(std::shared_ptr<const OutputLayout> layout, std::size_t i, std::shared_ptr<Metric> metric)
      : ForwardingMetric(std::move(metric)), layout_(std::move(layout)), i_(i) {}

  /// Keras 2 writes "policy_accuracy" in a file, Keras 3 "accuracy".
  std::string name() const override {
    const std::string output = layout_->targets[i_].name + "_", own = inner()->name();
    return own.starts_with(output) ? own : output + own;
  }
  void expect_outputs(const Shape&) override { inner()->expect_outputs(layout_->outputs[output()].shape); }
  void update(const Tensor& rows, const Tensor& targets) override {
    inner()->update(part(rows), layout_->split_targets(targets)[i_]);
  }
  void update_weighted(const Tensor& rows, const Tensor& targets, const Tensor& weights) override {
    inner()->update_weighted(part(rows), layout_->split_targets(targets)[i_], weights);
  }
  /// It is not one of the whole net, and OutputLosses has it.
  ConfigValue config() const override { return {}; }

 private:
  std::size_t output() const { return layout_->places[i_].output; }
  Tensor part(const Tensor& rows) const {
    return split_rows(rows, layout_->outputs)[output()].value().contiguous();
  }

  std::shared_ptr<const OutputLayout> layout_;
  std::size_t i_;
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
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (of_output[i].loss == nullptr) continue;
    const Loss& loss = *of_output[i].loss;
    layout->targets.push_back({outputs[i].name, loss.target_shape(outputs[i].shape)});
    layout->places.push_back({i, loss.takes_labels()});
    losses_.push_back(std::move(of_output[i]));
  }
  require<UsageError>(!losses_.empty(), "[output_losses] no output has a loss");
  layout->outputs = std::move(outputs);
  layout_ = std::move(layout);
}

Variable OutputLosses::operator()(const Variable& output, const Tensor& target) const {
  const Shape expected = joined_shape(targets()).batch_of(output.size(0));
  require(losses_.size() == 1 || target.shape() == expected, "[output_losses] expects rows of targets, ",
          expected, ", got ", target.shape());
  const std::vector<Variable> outputs = split_rows(output, layout_->outputs);
  const std::vector<Tensor> targets = layout_->split_targets(target);
  Variable total;
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const Variable& part = outputs[layout_->places[i].output];
    const Variable loss = losses_of_samples(*losses_[i].loss, part, targets[i]) * losses_[i].weight;
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

const std::vector<NetPart>& OutputLosses::targets() const {
  return layout_->targets;
}

const std::vector<NetPart>& OutputLosses::outputs() const {
  return layout_->outputs;
}

}  // namespace ronde::inline v0
