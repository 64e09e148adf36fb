#include "weights/saved_optimizer.h"

#include <algorithm>
#include <map>

#include <ronde/nn/weight_layout.h>

namespace ronde::inline v0 {

namespace {

using WeightsByName = std::map<std::string, Parameter>;

/// What a weight is called in the net alone, also if that is a part of another one by now.
std::string name_alone(const Module& net, const std::string& name) {
  const std::string prefix = net.path() + "/";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

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

template <class Named>
const Named& find_named(const std::vector<Named>& all, const std::string& name, const std::string& what) {
  for (const Named& one : all)
    if (one.name == name) return one;
  throw InputError(cat("the optimizer's state has no ", what));
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
    const SavedSlot& saved_slot = find_named(saved.slots, name, cat("\"", name, "\""));
    for (const Segment& segment : optimizer.arena().segments()) {
      if (segment.frozen) continue;
      const std::string weight = name_alone(module, segment.name);
      const Parameter part = part_of(slot, segment, weight, weights);
      const Tensor& values = find_named(saved_slot.weights, weight, cat(name, " of ", weight)).values;
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
