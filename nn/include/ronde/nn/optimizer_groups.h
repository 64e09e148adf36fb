/// OptimizerGroups: an optimizer made of several, each for some of the weights (PyTorch's parameter groups,
/// but each group may have an algorithm of its own).
///
///     OptimizerGroups optimizer(
///         optimizer_group("conv2d*/kernel", Muon({.learning_rate = 0.24, .momentum = 0.6})),
///         optimizer_group("*/beta", SGD({.learning_rate = 50.0, .momentum = 0.85, .nesterov = true})),
///         optimizer_group("*", SGD({.learning_rate = 0.1})));
///
/// A weight belongs to the first group whose pattern fits its full name; `*` stands for any characters, none
/// and '/' too. A weight without a group and a group without a weight are UsageErrors.
///
/// To all others it is one optimizer: `learning_rate` is the first group's, and setting it scales those of
/// all groups in proportion (schedules, warm-up, scaling by ranks); state is kept, saved and sharded per
/// weight; updates are counted once, and a moving average is that of all weights, not of a group. A group's
/// own `set_schedule` holds for that group on top of this.
/// Keras has no such thing: files for Keras leave it out.
#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct OptimizerGroup {
  std::string weights;  ///< full names: "dense_1/kernel", "*/bias"
  std::unique_ptr<Optimizer> optimizer;
};

template <std::derived_from<Optimizer> SomeOptimizer>
OptimizerGroup optimizer_group(std::string weights, SomeOptimizer optimizer) {
  return {std::move(weights), std::make_unique<SomeOptimizer>(std::move(optimizer))};
}

class RONDE_API OptimizerGroups : public Optimizer {
 public:
  explicit OptimizerGroups(std::vector<OptimizerGroup> groups);
  template <std::same_as<OptimizerGroup>... Groups>
  explicit OptimizerGroups(OptimizerGroup first, Groups... rest)
      : OptimizerGroups(list_of(std::move(first), std::move(rest)...)) {}

  std::string name() const override { return "OptimizerGroups"; }
  ConfigDict config() const override { return {}; }
  /// Pattern, class and settings of each group.
  ConfigDict own_settings() const override;
  void attach(ParameterArena& arena) override;

  /// The optimizer of each group, in order.
  std::vector<Optimizer*> optimizers() const;

 protected:
  void update_weights(double scale) override;
  void update(const Slice& slice, const StepParams& step) override;
  /// Those of all groups; what a group does not have of a slot stays zero.
  std::vector<OptimizerSlot> own_slots() const override { return slots_; }

 private:
  template <class... Groups>
  static std::vector<OptimizerGroup> list_of(Groups... groups) {
    std::vector<OptimizerGroup> list;
    (list.push_back(std::move(groups)), ...);
    return list;
  }
  Tensor shared_slot(const std::string& name);
  std::int64_t place_of(std::int64_t element) const;

  std::vector<OptimizerGroup> groups_;
  std::vector<double> rates_;  // of each group, for a first rate of rates_[0]
  std::vector<OptimizerSlot> slots_;
};

}  // namespace ronde::inline v0
