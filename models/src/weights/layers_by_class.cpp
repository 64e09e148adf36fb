#include "weights/layers_by_class.h"

#include <map>

#include <ronde/core/counted.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/recurrent.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/weight_layout.h>

namespace ronde::inline v0 {

namespace {

/// A module's own weights and the path of the group they lie in.
struct Place {
  std::string path;
  std::vector<Parameter> weights;
};

std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : cat(path, "/", name);
}

/// Gives each class its numbers.
class ClassNames {
 public:
  std::string next(const Module& layer) {
    const std::string name = default_layer_name(described_class(layer));
    const int number = count_[name]++;
    return number == 0 ? name : cat(name, "_", number);
  }

 private:
  std::map<std::string, int> count_;
};

class Places {
 public:
  explicit Places(const Module& net) {
    for (Parameter& weight : net.parameters()) {
      const auto slash = weight.name.rfind('/');
      own_[slash == std::string::npos ? "" : weight.name.substr(0, slash)].push_back(std::move(weight));
    }
    add(net, "");
  }
  std::vector<Place> take() { return std::move(places_); }

 private:
  void add(const Module& module, const std::string& path) {
    if (dynamic_cast<const Recurrent*>(&module) != nullptr) {  // its weights are its cell's in Keras
      places_.push_back({path, {}});
      places_.push_back({below(path, "cell"), own_[module.path()]});
      return;
    }
    places_.push_back({path, own_[module.path()]});  // trainable ones come first in `parameters` already
    const auto* graph = dynamic_cast<const Graph*>(&module);
    const bool is_container = graph != nullptr || dynamic_cast<const Sequential*>(&module) != nullptr;
    if (dynamic_cast<const MultiHeadAttention*>(&module) != nullptr)
      for (const std::string part : MultiHeadAttention::kPartNames)  // to Keras they are layers
        places_.push_back({cat(path, "/", part == "attention_output" ? "output" : part, "_dense"),
                           own_[below(module.path(), part)]});
    ClassNames names;
    for (const Module* child : graph != nullptr ? graph->layers() : module.children())
      add(*child,
          is_container ? below(below(path, "layers"), names.next(*child)) : below(path, child->name()));
  }

  std::map<std::string, std::vector<Parameter>> own_;
  std::vector<Place> places_;
};

void match_place(const Place& place, const SavedLayer& layer, std::vector<WeightAssignment>& assignments) {
  require<InputError>(layer.weights.size() == place.weights.size(), "layer ", place.path, " has ",
                      counted(layer.weights.size(), "weight"), ", in this net it has ", place.weights.size());
  for (std::size_t i = 0; i < place.weights.size(); ++i) {
    const Parameter& target = place.weights[i];
    const Tensor& values = layer.weights[i].values;
    const Shape expected = keras_shape(target);
    const bool scalar = expected.rank() == 0 && values.count() == 1;
    require<InputError>(scalar || values.shape() == expected, "layer ", place.path, " has weight ", i, " ",
                        values.shape(), ", in this net it is ", target.name, " ", expected);
    assignments.push_back({target, values.reshape(expected)});
  }
}

std::vector<WeightAssignment> match_by_class(const Module& module, const std::vector<SavedLayer>& layers) {
  std::map<std::string, const SavedLayer*> saved;
  for (const SavedLayer& layer : layers) saved.emplace(layer.name, &layer);
  std::vector<WeightAssignment> assignments;
  for (const Place& place : Places(module).take()) {
    const auto found = saved.find(place.path);
    require<InputError>(found != saved.end() || place.weights.empty(), "has no weights of a layer ",
                        place.path, ", which this net has");
    if (found == saved.end()) continue;
    match_place(place, *found->second, assignments);
    saved.erase(found);
  }
  require<InputError>(saved.empty(), "has weights of a layer ", saved.empty() ? "" : saved.begin()->first,
                      ", which this net has not");
  return assignments;
}

}  // namespace

std::vector<SavedLayer> arrange_by_class(const Module& module, const std::vector<SavedLayer>& layers) {
  std::map<std::string, Tensor> values;
  for (const SavedLayer& layer : layers)
    for (const SavedWeight& weight : layer.weights) values.emplace(weight.name, weight.values);
  std::vector<SavedLayer> arranged;
  for (const Place& place : Places(module).take()) {
    SavedLayer layer{place.path, {}};
    for (const Parameter& weight : place.weights)
      layer.weights.push_back({std::to_string(layer.weights.size()), values.at(cat(weight.name, ":0"))});
    arranged.push_back(std::move(layer));
  }
  return arranged;
}

std::vector<Parameter> weights_in_keras_order(const Module& module) {
  std::vector<Parameter> weights;
  for (const Place& place : Places(module).take())
    weights.insert(weights.end(), place.weights.begin(), place.weights.end());
  return weights;
}

std::vector<WeightAssignment> match_file(const Module& module, const SavedModel& file) {
  return file.layout == SavedLayout::h5 ? match_layers(module, file.layers)
                                        : match_by_class(module, file.layers);
}

}  // namespace ronde::inline v0
