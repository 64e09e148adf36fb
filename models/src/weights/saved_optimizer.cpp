#include "weights/saved_optimizer.h"

#include <algorithm>

#include <ronde/nn/weight_layout.h>

namespace ronde::inline v0 {

namespace {

using WeightsByName = std::map<std::string, Parameter>;

WeightsByName weights_by_name(const Module& net) {
  WeightsByName result;
  for (Parameter& weight : net.parameters()) result.emplace(name_alone(net, weight.name), weight);
  return result;
}

/// The part of a slot that belongs to one weight, lying as the weight does.
Parameter part_of(const OptimizerSlot& slot, const Segment& segment, const std::string& name,
                  const WeightsByName& weights) {
  Parameter part = weights.at(name);
  part.variable = Variable(slot.values.view(segment.offset, segment.shape));
  return part;
}

const SavedSlot& find_slot(const SavedOptimizer& saved, const std::string& name) {
  for (const SavedSlot& slot : saved.slots)
    if (slot.name == name) return slot;
  throw InputError(cat("the optimizer's state has no \"", name, "\""));
}

bool is_of_average(const std::string& slot) {
  return slot == kAverageSlot || slot == kTrainedSlot;
}

/// How it calls what fills this slot.
std::string name_in(const SavedOptimizer& saved, const OptimizerSlot& slot) {
  if (!is_of_average(slot.name)) return slot.name;
  return is_averaged(saved) ? kTrainedSlot : kAverageSlot;
}

}  // namespace

bool is_averaged(const SavedOptimizer& saved) {
  return std::any_of(saved.slots.begin(), saved.slots.end(),
                     [](const SavedSlot& slot) { return slot.name == kTrainedSlot; });
}

std::string name_alone(const Module& net, const std::string& name) {
  const std::string prefix = net.path() + "/";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::map<std::string, Tensor> values_by_name(const SavedSlot& slot) {
  std::map<std::string, Tensor> values;
  for (const SavedWeight& weight : slot.weights) values.emplace(weight.name, weight.values);
  return values;
}

SavedOptimizer save_optimizer(const Optimizer& optimizer, const std::vector<OptimizerSlot>& slots,
                              const Module& module) {
  SavedOptimizer saved{optimizer.name(), optimizer.iterations(), optimizer.learning_rate(), {}};
  const WeightsByName weights = weights_by_name(module);
  for (const OptimizerSlot& slot : slots) {
    SavedSlot saved_slot{slot.name, {}};
    for (const Segment& segment : optimizer.arena().segments()) {
      if (segment.frozen) continue;
      const std::string name = name_alone(module, segment.name);
      saved_slot.weights.push_back({name, to_keras_layout(part_of(slot, segment, name, weights))});
    }
    saved.slots.push_back(std::move(saved_slot));
  }
  return saved;
}

std::vector<WeightAssignment> match_optimizer(const Optimizer& optimizer,
                                              const std::vector<OptimizerSlot>& slots, const Module& module,
                                              const SavedOptimizer& saved) {
  const WeightsByName weights = weights_by_name(module);
  std::vector<WeightAssignment> assignments;
  for (const OptimizerSlot& slot : slots) {
    const std::string name = name_in(saved, slot);
    const std::map<std::string, Tensor> values_of = values_by_name(find_slot(saved, name));
    for (const Segment& segment : optimizer.arena().segments()) {
      if (segment.frozen) continue;
      const std::string weight = name_alone(module, segment.name);
      const Parameter part = part_of(slot, segment, weight, weights);
      const auto found = values_of.find(weight);
      require<InputError>(found != values_of.end(), "the optimizer's state has no ", name, " of ", weight);
      const Tensor& values = found->second;
      const Shape expected = keras_shape(part);
      require<InputError>(values.shape() == expected || (expected.rank() == 0 && values.count() == 1),
                          "the optimizer's ", name, " of ", weight, " is ", values.shape(), ", this net has ",
                          expected);
      assignments.push_back({part, values.reshape(expected)});
    }
  }
  return assignments;
}

}  // namespace ronde::inline v0
