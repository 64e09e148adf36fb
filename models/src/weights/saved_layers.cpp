#include "weights/saved_layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <ronde/core/counted.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/weight_layout.h>

namespace ronde::inline v0 {

namespace {

/// Weights that the model itself has, outside all layers, are called so in Keras' files too.
constexpr const char* kTopLevel = "top_level_model_weights";

/// A layer of a net as files see it.
struct Group {
  std::string name;
  std::vector<Parameter> weights;
  bool has_two_orders = false;  // of the weights: Keras 2 and 3 list them differently
};

/// The layers of a net that Keras has a class for, in Keras' order; none for any other module.
std::optional<std::vector<Module*>> layers_of(const Module& module) {
  if (const auto* graph = dynamic_cast<const Graph*>(&module)) return graph->layers();
  if (dynamic_cast<const Sequential*>(&module) != nullptr) return module.children();
  return std::nullopt;
}

/// The weights of a net that no group has taken yet.
class Ungrouped {
 public:
  explicit Ungrouped(std::vector<Parameter> all) : all_(std::move(all)) {
    for (std::size_t i = 0; i < all_.size(); ++i) index_.emplace(all_[i].name, i);
  }

  /// Moves the weights of one layer to `group`; those of a nested net layer by layer.
  void take(const Module& layer, Group& group) {
    if (const auto nested = layers_of(layer))
      for (const Module* inner : *nested) take(*inner, group);
    take(layer.path() + "/", group);
  }

  /// Moves those whose names begin so to `group`, in the net's order.
  void take(const std::string& prefix, Group& group) {
    std::set<std::size_t> taken;
    auto entry = index_.lower_bound(prefix);
    for (; entry != index_.end() && entry->first.starts_with(prefix); entry = index_.erase(entry))
      taken.insert(entry->second);
    for (const std::size_t i : taken) group.weights.push_back(std::move(all_[i]));
  }

 private:
  std::vector<Parameter> all_;
  std::multimap<std::string, std::size_t> index_;  // of the names
};

/// The path of the layer that it belongs to.
std::string owner_of(const Parameter& weight) {
  return weight.name.substr(0, weight.name.rfind('/'));
}

bool is_trained(const Parameter& weight) {
  return weight.variable.requires_grad();
}

/// Keras lists what is trained before what is not, or is frozen; it freezes whole layers only.
void put_trained_first(std::vector<Parameter>& weights) {
  std::set<std::string> trained;
  for (const Parameter& weight : weights)
    if (is_trained(weight)) trained.insert(owner_of(weight));
  std::stable_partition(weights.begin(), weights.end(), [&](const Parameter& weight) {
    return weight.trainable && trained.contains(owner_of(weight));
  });
}

/// Keras 3 lists the weights of such a net as they come, whichever of its layers are trained.
bool is_frozen_graph(const Module& layer) {
  return dynamic_cast<const Graph*>(&layer) != nullptr && !layer.trainable();
}

std::vector<Group> groups_of_layers(const Module& module, const std::vector<Module*>& layers) {
  Ungrouped all(module.parameters());
  std::vector<Group> groups;
  for (const Module* layer : layers) {
    Group group{layer->name(), {}};
    all.take(*layer, group);
    if (!is_frozen_graph(*layer))
      put_trained_first(group.weights);
    else
      group.has_two_orders = std::any_of(group.weights.begin(), group.weights.end(), is_trained);
    groups.push_back(std::move(group));
  }
  Group rest{kTopLevel, {}};
  all.take("", rest);
  if (!rest.weights.empty()) groups.push_back(std::move(rest));
  return groups;
}

std::vector<Group> groups_of_owners(const Module& module) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> index;
  for (Parameter& weight : module.parameters()) {
    const auto slash = weight.name.rfind('/');
    const std::string path = slash == std::string::npos ? "" : weight.name.substr(0, slash);
    const auto [found, added] = index.emplace(path, groups.size());
    if (added) groups.push_back({path.empty() ? kTopLevel : path, {}});
    groups[found->second].weights.push_back(std::move(weight));
  }
  return groups;
}

std::vector<Group> groups_of(const Module& module) {
  const auto layers = layers_of(module);
  return layers ? groups_of_layers(module, *layers) : groups_of_owners(module);
}

/// "conv2d/kernel:0" or "sequential/conv2d/kernel" -> "kernel"
std::string last_part(const std::string& name) {
  const std::string last = name.substr(name.rfind('/') + 1);
  return last.substr(0, last.find(':'));
}

void add_weight(const std::string& layer, const SavedWeight& saved, const Parameter& target,
                std::vector<WeightAssignment>& assignments) {
  const Shape expected = keras_shape(target);
  const bool scalar = expected.rank() == 0 && saved.values.count() == 1;  // (1) in a file
  require<InputError>(scalar || saved.values.shape() == expected, "layer ", layer, " has ",
                      last_part(target.name), " ", saved.values.shape(), ", this net has ", expected);
  assignments.push_back({target, saved.values.reshape(expected)});
}

/// "base/conv2d/kernel:0" -> "conv2d/kernel"
std::string last_two_parts(const std::string& name) {
  const auto slash = name.rfind('/');
  const std::string owner = slash == std::string::npos ? "" : name.substr(0, slash);
  return cat(last_part(owner), "/", last_part(name));
}

/// The weights of a layer in the order of the net's, by their names; as they lie in the file where these do
/// not say it.
std::vector<SavedWeight> in_order_of(const Group& group, const SavedLayer& layer) {
  std::map<std::string, const SavedWeight*> saved;
  for (const SavedWeight& weight : layer.weights) saved.emplace(last_two_parts(weight.name), &weight);
  std::vector<SavedWeight> ordered;
  for (const Parameter& weight : group.weights) {
    const auto found = saved.find(last_two_parts(weight.name));
    if (found == saved.end()) return layer.weights;
    ordered.push_back(*found->second);
    saved.erase(found);
  }
  return ordered;
}

std::vector<WeightAssignment> match_by_position(std::vector<Group> net, std::vector<SavedLayer> file) {
  std::erase_if(net, [](const Group& group) { return group.weights.empty(); });
  std::erase_if(file, [](const SavedLayer& layer) { return layer.weights.empty(); });
  require<InputError>(net.size() == file.size(), "has ", counted(file.size(), "layer"),
                      " with weights, this net has ", net.size());
  std::vector<WeightAssignment> assignments;
  for (std::size_t i = 0; i < net.size(); ++i) {
    require<InputError>(net[i].weights.size() == file[i].weights.size(), "layer ", file[i].name, " has ",
                        counted(file[i].weights.size(), "weight"), ", layer ", net[i].name,
                        " of this net has ", net[i].weights.size());
    if (net[i].has_two_orders) file[i].weights = in_order_of(net[i], file[i]);
    for (std::size_t k = 0; k < net[i].weights.size(); ++k)
      add_weight(file[i].name, file[i].weights[k], net[i].weights[k], assignments);
  }
  return assignments;
}

std::vector<WeightAssignment> match_by_name(const std::vector<Group>& net,
                                            const std::vector<SavedLayer>& file) {
  std::map<std::string, const SavedWeight*> saved;
  for (const SavedLayer& layer : file)
    for (const SavedWeight& weight : layer.weights)
      saved.emplace(cat(layer.name, "/", last_part(weight.name)), &weight);
  std::vector<WeightAssignment> assignments;
  for (const Group& group : net) {
    for (const Parameter& weight : group.weights) {
      const std::string name = cat(group.name, "/", last_part(weight.name));
      const auto found = saved.find(name);
      require<InputError>(found != saved.end(), "has no weight ", name, ", this net has");
      add_weight(group.name, *found->second, weight, assignments);
      saved.erase(found);
    }
  }
  require<InputError>(saved.empty(), "has weight ", saved.empty() ? "" : saved.begin()->first,
                      ", this net has not");
  return assignments;
}

}  // namespace

std::vector<SavedLayer> save_layers(const Module& module) {
  std::vector<SavedLayer> layers;
  for (const Group& group : groups_of(module)) {
    SavedLayer layer{group.name, {}};
    for (const Parameter& weight : group.weights)
      layer.weights.push_back({cat(weight.name, ":0"), to_keras_layout(weight)});
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::vector<WeightAssignment> match_layers(const Module& module, const std::vector<SavedLayer>& layers) {
  const std::vector<Group> groups = groups_of(module);
  return layers_of(module) ? match_by_position(groups, layers) : match_by_name(groups, layers);
}

void assign_all(std::vector<WeightAssignment>& assignments) {
  for (WeightAssignment& assignment : assignments) assign_keras_layout(assignment.target, assignment.values);
}

}  // namespace ronde::inline v0
