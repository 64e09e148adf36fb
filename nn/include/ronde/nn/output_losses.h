/// OutputLosses: a loss, a weight and metrics for each output of a net that has several; Keras' `loss={...}`,
/// `loss_weights={...}`, `metrics={...}`.
///
///     net.output({policy, value});  // a Graph; layers called "policy", 64 moves, and "value"
///     Model model(net, {128});
///     auto losses = std::make_unique<OutputLosses>(net.output_parts(), std::vector<OutputLoss>{
///         {.output = "policy", .loss = make_loss("sparse_categorical_crossentropy"),
///          .metrics = {make_metric("accuracy")}},
///         {.output = "value", .loss = make_loss("mse"), .weight = 0.5}});
///     model.compile({.optimizer = std::make_unique<Adam>(), .loss = std::move(losses)});
///
/// The loss of a sample is the weighted sum. In the logs are beside it `policy_loss`, `value_loss`, without
/// their weights, and `policy_accuracy`.
///
/// Targets of a sample are a row of numbers, too: those of each output that has a loss, flattened, one behind
/// the other in the order of the outputs (`targets`; join_rows in core/ops.h makes rows). A class label is
/// one number. Where only one output has a loss, its targets are as ever.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ronde/nn/graph.h>
#include <ronde/nn/loss.h>

namespace ronde::inline v0 {

struct OutputLayout;

struct OutputLoss {
  std::string output = {};  ///< the name of one of the net's
  std::shared_ptr<Loss> loss = {};
  double weight = 1.0;
  std::vector<std::shared_ptr<Metric>> metrics = {};  ///< of this output alone
};

class RONDE_API OutputLosses : public Loss {
 public:
  /// `outputs` are those of a built net. A UsageError for a loss of an output that there is not, or for a
  /// second one of the same. An output without one is computed, and not trained.
  OutputLosses(std::vector<NetPart> outputs, std::vector<OutputLoss> losses);

  std::string name() const override { return "output_losses"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
  std::vector<std::shared_ptr<Metric>> part_metrics() const override;
  bool is_repeatable() const override;

  /// What a row of targets consists of.
  const std::vector<NetPart>& targets() const;
  const std::vector<NetPart>& outputs() const;
  /// In the order of the outputs.
  const std::vector<OutputLoss>& losses() const { return losses_; }

 private:
  std::vector<OutputLoss> losses_;
  std::shared_ptr<const OutputLayout> layout_;
};

}  // namespace ronde::inline v0
