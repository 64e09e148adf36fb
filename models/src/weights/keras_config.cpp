#include "weights/keras_config.h"

#include <algorithm>

#include <ronde/nn/layer_factory.h>
#include <ronde/nn/optimizer_factory.h>

namespace ronde::inline v0 {

namespace {

bool keras_knows(const Module& module) {
  static const std::vector<std::string> kNames = layer_class_names();
  if (std::find(kNames.begin(), kNames.end(), module.class_name()) == kNames.end()) return false;
  const auto children = module.children();
  return std::all_of(children.begin(), children.end(),
                     [](const Module* child) { return keras_knows(*child); });
}

/// Without it Keras 3 would build an input with an axis too many. `batch_input_shape` is the key that both
/// know.
ConfigValue input_layer(const Module& module) {
  ConfigList shape{ConfigValue()};
  for (const std::int64_t extent : module.input_shape()) shape.emplace_back(extent);
  return ConfigDict{{"class_name", "InputLayer"},
                    {"config", ConfigDict{{"batch_input_shape", shape},
                                          {"dtype", "float32"},
                                          {"sparse", false},
                                          {"name", module.children().front()->name() + "_input"}}}};
}

/// The first of the keys that a dict has with a list in it.
const ConfigValue* find_shape(const ConfigValue& layer_config) {
  for (const char* key : {"batch_input_shape", "batch_shape"})
    if (const ConfigValue* found = layer_config.find(key); found && found->is_list()) return found;
  return nullptr;
}

/// [null, 28, 28, 1] -> (28, 28, 1)
Shape without_batch(const ConfigList& list) {
  Shape shape;
  require<InputError>(!list.empty() && list.size() <= Shape::kMaxRank, "its input shape has ", list.size(),
                      " axes");
  for (std::size_t axis = 1; axis < list.size(); ++axis) {
    require<InputError>(!list[axis].is_null(), "its input shape leaves axis ", axis,
                        " open, which is not supported");
    shape.push_back(list[axis].as_int());
    require<InputError>(shape.back() > 0, "its input shape has ", shape.back(), " at axis ", axis);
  }
  return shape;
}

/// From the InputLayer, or (files of the standalone Keras) from the first layer itself.
Shape read_input_shape(const ConfigValue& config) {
  for (const ConfigValue& layer : config.at("layers").as_list()) {
    if (const ConfigValue* shape = find_shape(layer.at("config"))) return without_batch(shape->as_list());
    require<InputError>(layer.at("class_name").as_string() == "InputLayer",
                        "the description of the net has no input shape");
  }
  throw InputError("the description of the net has no input shape");
}

/// "categorical_crossentropy", or a dict with Keras' class name and options; nullptr when it is not known
/// here.
std::unique_ptr<Loss> loss_from_config(const ConfigValue& config) {
  std::string name;
  CrossentropyOptions options;
  if (config.is_string()) {
    name = config.as_string();
  } else if (config.is_dict() && config.find("class_name") && config.find("config")) {
    name = config.at("class_name").as_string();
    const ConfigValue& arguments = config.at("config");
    if (!arguments.is_dict()) {
      name =
          arguments.is_string() ? arguments.as_string() : "";  // {"class_name": "function", "config": "mse"}
    } else {
      if (const auto* value = arguments.find("from_logits")) options.from_logits = value->as_bool();
      if (const auto* value = arguments.find("label_smoothing")) options.label_smoothing = value->as_double();
    }
  }
  if (name == "categorical_crossentropy" || name == "CategoricalCrossentropy")
    return std::make_unique<CategoricalCrossentropy>(options);
  if (name == "sparse_categorical_crossentropy" || name == "SparseCategoricalCrossentropy")
    return std::make_unique<SparseCategoricalCrossentropy>(options);
  if (name == "mean_squared_error" || name == "mse" || name == "MeanSquaredError")
    return std::make_unique<MeanSquaredError>();
  return nullptr;
}

}  // namespace

ConfigValue model_config(const Module& module) {
  if (dynamic_cast<const Sequential*>(&module) == nullptr || module.children().empty() ||
      !keras_knows(module))
    return {};
  ConfigDict config = module.config();
  for (auto& [key, value] : config) {
    if (key != "layers") continue;
    ConfigList layers = value.as_list();
    layers.insert(layers.begin(), input_layer(module));
    value = layers;
  }
  return ConfigDict{{"class_name", "Sequential"}, {"config", config}};
}

ConfigValue training_config(const Optimizer& optimizer, const Loss& loss,
                            const std::vector<std::shared_ptr<Metric>>& metrics) {
  ConfigList names;
  for (const auto& metric : metrics) names.emplace_back(metric->name());
  // Keras 2 finds AdamW under this name only. (Keras 3 takes it for an AdamW with default numbers.)
  const std::string class_name = optimizer.name() == "AdamW" ? "Custom>AdamW" : optimizer.name();
  return ConfigDict{
      {"loss", loss.name()},
      {"metrics", names},
      {"weighted_metrics", ConfigValue()},
      {"loss_weights", ConfigValue()},
      {"optimizer_config", ConfigDict{{"class_name", class_name}, {"config", optimizer.config()}}}};
}

DescribedNet net_from_config(const ConfigValue& config) {
  require<InputError>(!config.is_null(), "holds weights, but no description of a net");
  const std::string& class_name = config.at("class_name").as_string();
  require<InputError>(
      class_name == "Sequential", "is a ", class_name,
      " model; only Sequential models can be built from a file (its weights can be loaded into a net "
      "of your own)");
  // Keras 2.2.0 and older wrote the list of layers alone.
  const ConfigValue& inner = config.at("config");
  const ConfigValue described = inner.is_list() ? ConfigValue(ConfigDict{{"layers", inner}}) : inner;
  std::unique_ptr<Module> module = layer_from_config("Sequential", described);
  return {std::unique_ptr<Sequential>(static_cast<Sequential*>(module.release())),
          read_input_shape(described)};
}

CompileOptions compile_options_from_config(const ConfigValue& config) {
  CompileOptions options;
  if (!config.is_dict()) return options;
  const ConfigValue* loss = config.find("loss");
  const ConfigValue* optimizer = config.find("optimizer_config");
  if (loss) options.loss = loss_from_config(*loss);
  if (optimizer && optimizer->is_dict() && optimizer->find("class_name") && optimizer->find("config"))
    options.optimizer =
        optimizer_from_config(optimizer->at("class_name").as_string(), optimizer->at("config"));
  return options;
}

}  // namespace ronde::inline v0
