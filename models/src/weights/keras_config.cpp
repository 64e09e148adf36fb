#include "weights/keras_config.h"

#include <algorithm>

#include <ronde/models/saved_model.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/sequential.h>

#include "weights/hard_sigmoid.h"

namespace ronde::inline v0 {

namespace {

bool keras_knows(const Module& module) {
  static const std::vector<std::string> kNames = layer_class_names();
  if (std::find(kNames.begin(), kNames.end(), module.class_name()) == kNames.end()) return false;
  const auto* graph = dynamic_cast<const Graph*>(&module);
  if (graph && graph->has_several_parts() && !graph->path().empty()) return false;  // rows are not Keras'
  // To Keras an attention always takes several inputs, which only a net can give it.
  const bool is_net = graph || dynamic_cast<const Sequential*>(&module);
  const auto children = module.children();
  return std::all_of(children.begin(), children.end(), [is_net](const Module* child) {
    return keras_knows(*child) && (is_net || !dynamic_cast<const MultiHeadAttention*>(child));
  });
}

/// `described` with the extents of `open` where it leaves some open.
Shape closed(Shape described, const std::optional<Shape>& open) {
  for (int axis = 0; axis < described.rank(); ++axis) {
    if (described[axis] != 0) continue;
    require<InputError>(open.has_value(), "its input shape leaves axis ", axis + 1,
                        " open: give one to load, as ModelOptions.input_shape");
    described[axis] = (*open)[axis];
    require<InputError>(described[axis] > 0, "its input shape has ", described[axis], " at axis ", axis + 1);
  }
  require<InputError>(!open || described == *open, "its input shape is ", described, ", not ",
                      open.value_or(described));
  return described;
}

/// From the InputLayer, or (files of the standalone Keras) from the first layer itself.
Shape read_input_shape(const ConfigValue& config, const std::optional<Shape>& open) {
  const ConfigList& layers = config.at("layers").as_list();
  require<InputError>(!layers.empty(), "the description of the net has no layers");
  const auto found = std::find_if(layers.begin(), layers.end(), [](const ConfigValue& layer) {
    return layer.at("class_name").as_string() == "InputLayer";
  });
  const ConfigValue& first = (found == layers.end() ? layers.front() : *found).at("config");
  if (const std::optional<Shape> shape = described_input_shape(first)) return closed(*shape, open);
  require<InputError>(first.is_dict() && first.find("layers") != nullptr,
                      "the description of the net has no input shape");
  return read_input_shape(first, open);
}

}  // namespace

ConfigValue model_config(const Module& module) {
  const bool is_net = dynamic_cast<const Sequential*>(&module) || dynamic_cast<const Graph*>(&module);
  if (!is_net || module.children().empty() || !keras_knows(module)) return {};
  ConfigDict described = described_layer(module);
  described.back().second = with_named_hard_sigmoid(described.back().second);
  return described;
}

void require_config_for(const char* who, const std::string& path, const Module& module) {
  if (layout_for(path) != SavedLayout::archive) return;
  require<UsageError>(!model_config(module).is_null(), "[", who, "] ", path,
                      ": a .keras file describes its net, which is not possible for one with a forward() of "
                      "its own or a layer that Keras does not know. Use a name that ends in .h5: that file "
                      "holds the weights and all that a training goes on with");
}

DescribedNet net_from_config(const ConfigValue& config, const std::string& keras_version,
                             const std::optional<Shape>& open_shape) {
  require<InputError>(!config.is_null(), "holds weights, but no description of a net");
  const std::string& class_name = config.at("class_name").as_string();
  require<InputError>(class_name == "Sequential" || class_name == "Functional" || class_name == "Model",
                      "is a ", class_name,
                      " model; only Sequential and functional models can be built from a file (its weights "
                      "can be loaded into a net of your own)");
  refuse_old_hard_sigmoid(config, keras_version);
  // Keras 2.2.0 and older wrote the list of layers alone.
  const ConfigValue& inner = config.at("config");
  const ConfigValue described = inner.is_list() ? ConfigValue(ConfigDict{{"layers", inner}}) : inner;
  std::unique_ptr<Module> net = layer_from_config(class_name, described);
  // Of a net within another one Keras asks the layers alone, of the whole one itself too.
  if (!net->trainable() && class_name != "Sequential") net->set_trainable(false);
  const auto* graph = dynamic_cast<const Graph*>(net.get());
  if (graph == nullptr || graph->input_parts().size() == 1)
    return {std::move(net), read_input_shape(described, open_shape)};
  const Shape rows = closed(joined_shape(graph->input_parts()), open_shape);
  return {std::move(net), rows};
}

}  // namespace ronde::inline v0
