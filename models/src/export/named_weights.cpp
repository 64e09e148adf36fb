#include <ronde/models/named_weights.h>
#include <ronde/nn/recurrent.h>

#include <algorithm>
#include <set>

#include "export/named_weight.h"
#include "state/find_module.h"

namespace ronde::inline v0 {

namespace {

/// What files of PyTorch have and no net here: a count of training steps.
bool is_step_counter(const std::string& name) {
  return name.ends_with("num_batches_tracked");
}

/// The net's weights under the names of which more are in the file, where those that are the same in both
/// flavours say nothing. An Error if those are PyTorch's, for a net that PyTorch cannot have.
std::vector<NamedWeight> weights_named_as(const NamedTensors& file, const Module& net) {
  const std::set<std::string> keras_names = weight_names_of(net, WeightNames::keras),
                              torch_names = weight_names_of(net, WeightNames::torch);
  const auto count = [&](const std::set<std::string>& names, const std::set<std::string>& others) {
    return std::count_if(names.begin(), names.end(), [&](const std::string& name) {
      return file.contains(name) && !others.contains(name);
    });
  };
  const bool is_torch = count(torch_names, keras_names) > count(keras_names, torch_names);
  return named_weights_of(net, is_torch ? WeightNames::torch : WeightNames::keras);
}

void require_weights_of_torch(const Module& net) {
  for_each_module(net, [](const Module& module) {
    require<UsageError>(dynamic_cast<const Recurrent*>(&module) == nullptr, "[weights] ", module.label(),
                        ": PyTorch has other weights for a recurrent layer, with two biases; use "
                        "WeightNames::keras");
  });
}

}  // namespace

NamedTensors named_weights(const Module& net, WeightNames names) {
  NamedTensors result;
  if (names == WeightNames::torch) require_weights_of_torch(net);
  for (const NamedWeight& weight : named_weights_of(net, names))
    require<UsageError>(result.emplace(weight.name(), weight.get()).second, "[", net.label(),
                        "] calls parts of other nets, of which two have a weight \"", weight.name(),
                        "\": save each by itself");
  return result;
}

void assign_named_weights(Module& net, const NamedTensors& weights) {
  NamedTensors rest = weights;
  std::erase_if(rest, [](const auto& entry) { return is_step_counter(entry.first); });
  std::vector<NamedWeight> own = weights_named_as(rest, net);
  for (const NamedWeight& weight : own) {
    const auto found = rest.find(weight.name());
    require<InputError>(found != rest.end(), "there is no weight ", weight.name(), ", which this net has");
    const Tensor& value = found->second;
    require<InputError>(is_floating(value.dtype()), "weight ", weight.name(), " is of type ", value.dtype());
    require<InputError>(value.shape() == weight.shape(), "weight ", weight.name(), " is ", value.shape(),
                        ", this net has ", weight.shape());
    rest.erase(found);
  }
  require<InputError>(rest.empty(), "there is a weight ", rest.empty() ? "" : rest.begin()->first,
                      ", which this net has not");
  for (NamedWeight& weight : own) weight.set(weights.at(weight.name()));
}

MatchedWeights assign_matching_weights(Module& net, const NamedTensors& weights) {
  NamedTensors rest = weights;
  std::erase_if(rest, [](const auto& entry) { return is_step_counter(entry.first); });
  MatchedWeights matched;
  for (NamedWeight& weight : weights_named_as(rest, net)) {
    const auto found = rest.find(weight.name());
    const bool fits =
        found != rest.end() && is_floating(found->second.dtype()) && found->second.shape() == weight.shape();
    (fits ? matched.assigned : matched.kept).push_back(weight.name());
    if (!fits) continue;
    weight.set(found->second);
    rest.erase(found);
  }
  std::sort(matched.assigned.begin(), matched.assigned.end());
  std::sort(matched.kept.begin(), matched.kept.end());
  for (const auto& [name, values] : rest) matched.unused.push_back(name);
  return matched;
}

}  // namespace ronde::inline v0
