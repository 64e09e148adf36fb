#include "weights/keras_config.h"

#include <algorithm>
#include <typeinfo>

#include <ronde/core/text.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/optimizer_factory.h>
#include <ronde/nn/sequential.h>

#include "json/json.h"
#include "weights/hard_sigmoid.h"

namespace ronde::inline v0 {

namespace {

bool keras_knows(const Module& module) {
  static const std::vector<std::string> kNames = layer_class_names();
  if (std::find(kNames.begin(), kNames.end(), module.class_name()) == kNames.end()) return false;
  const auto children = module.children();
  return std::all_of(children.begin(), children.end(),
                     [](const Module* child) { return keras_knows(*child); });
}

/// The first of the keys that a dict has with a list in it.
const ConfigValue* find_shape(const ConfigValue& layer_config) {
  for (const char* key : {"batch_input_shape", "batch_shape"})
    if (const ConfigValue* found = layer_config.find(key); found && found->is_list()) return found;
  return nullptr;
}

/// [null, 28, 28, 1] -> (28, 28, 1); `open` has the extents that are null, too.
Shape without_batch(const ConfigList& list, const std::optional<Shape>& open) {
  Shape shape;
  require<InputError>(!list.empty() && list.size() <= Shape::kMaxRank, "its input shape has ", list.size(),
                      " axes");
  for (std::size_t axis = 1; axis < list.size(); ++axis) {
    require<InputError>(!list[axis].is_null() || open, "its input shape leaves axis ", axis,
                        " open: give one to load, as ModelOptions.input_shape");
    shape.push_back(list[axis].is_null() ? (*open)[static_cast<int>(axis) - 1] : list[axis].as_int());
    require<InputError>(shape.back() > 0, "its input shape has ", shape.back(), " at axis ", axis);
  }
  require<InputError>(!open || shape == *open, "its input shape is ", shape, ", not ", open.value_or(shape));
  return shape;
}

/// From the InputLayer, or (files of the standalone Keras) from the first layer itself.
Shape read_input_shape(const ConfigValue& config, const std::optional<Shape>& open) {
  const ConfigList& layers = config.at("layers").as_list();
  require<InputError>(!layers.empty(), "the description of the net has no layers");
  const auto found = std::find_if(layers.begin(), layers.end(), [](const ConfigValue& layer) {
    return layer.at("class_name").as_string() == "InputLayer";
  });
  const ConfigValue& first = (found == layers.end() ? layers.front() : *found).at("config");
  if (const ConfigValue* shape = find_shape(first)) return without_batch(shape->as_list(), open);
  require<InputError>(first.is_dict() && first.find("layers") != nullptr,
                      "the description of the net has no input shape");
  return read_input_shape(first, open);
}

/// What Keras calls an object, and its options; no name when this is no description of one.
struct Described {
  std::string name;
  ConfigValue options = ConfigDict();
};

/// "mse", {"class_name": "Huber", "config": {"delta": 2}} or {"class_name": "function", "config": "mse"}.
Described described(const ConfigValue& config) {
  if (config.is_string()) return {config.as_string()};
  if (!config.is_dict() || !config.find("class_name") || !config.find("config")) return {};
  const ConfigValue& options = config.at("config");
  if (options.is_string()) return {options.as_string()};
  return options.is_dict() ? Described{config.at("class_name").as_string(), options} : Described();
}

/// nullptr for what is not known here, and a line in `unknown`.
template <class Made>
Made made_or_null(Made (*make)(const std::string&, const ConfigValue&), const ConfigValue& config,
                  const char* kind, std::vector<std::string>& unknown) {
  const Described object = described(config);
  try {
    require<InputError>(!object.name.empty(), kind, " ", to_json(config), " is not supported");
    return make(object.name, object.options);
  } catch (const InputError& error) {
    unknown.emplace_back(error.what());
    return nullptr;
  }
}

/// The loss itself, where Keras has it in a list or a dict of the outputs, of which there is one.
const ConfigValue& of_one_output(const ConfigValue& loss) {
  if (loss.is_list() && loss.as_list().size() == 1) return loss.as_list().front();
  if (loss.is_dict() && !loss.find("class_name") && loss.as_dict().size() == 1)
    return loss.as_dict().front().second;
  return loss;
}

/// To Keras, too, "Accuracy" and "ACC" are the accuracy that the loss calls for, and not the class.
bool is_accuracy(const std::string& name) {
  const std::string lower = lower_case(name);
  return lower == "accuracy" || lower == "acc";
}

/// A metric that was given by its name as this Keras logs it: 3 keeps the name of a class, "AUC", and 2 takes
/// the class's own, "auc".
ConfigValue with_logged_name(const ConfigValue& metric, const std::string& keras_version) {
  if (!metric.is_string()) return metric;
  const bool is_of_loss = is_accuracy(metric.as_string());
  if (!is_of_loss && (keras_version.empty() || keras_version.front() < '3')) return metric;
  return ConfigDict{{"class_name", is_of_loss ? ConfigValue("accuracy") : metric},
                    {"config", ConfigDict{{"name", metric}}}};
}

using Metrics = std::vector<std::shared_ptr<Metric>>;

/// Those that are known here, to one of the lists of `training.options`; Keras nests them in a list or a dict
/// for each output.
void append_metrics(const ConfigValue& config, const std::string& keras_version, DescribedTraining& training,
                    Metrics CompileOptions::*list) {
  if (config.is_list()) {
    for (const ConfigValue& inner : config.as_list()) append_metrics(inner, keras_version, training, list);
  } else if (config.is_dict() && !config.find("class_name")) {
    for (const auto& [output, inner] : config.as_dict()) append_metrics(inner, keras_version, training, list);
  } else if (!config.is_null()) {
    auto metric =
        made_or_null(make_metric, with_logged_name(config, keras_version), "metric", training.unknown);
    if (metric && metric->name() == "loss")
      training.unknown.push_back("a metric that is called loss, as the loss is");
    else if (metric)
      (training.options.*list).push_back(std::move(metric));
  }
}

}  // namespace

ConfigValue model_config(const Module& module) {
  const bool is_net = dynamic_cast<const Sequential*>(&module) || dynamic_cast<const Graph*>(&module);
  if (!is_net || module.children().empty() || !keras_knows(module)) return {};
  return ConfigDict{{"class_name", module.class_name()},
                    {"config", with_named_hard_sigmoid(module.config())}};
}

namespace {

/// "categorical_crossentropy" -> "CategoricalCrossentropy"
std::string class_name_of(const std::string& snake) {
  std::string name;
  bool word_begins = true;
  for (const char c : snake) {
    if (c != '_') name += word_begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    word_begins = c == '_';
  }
  return name;
}

/// By name when it has Keras' defaults, else as the object with its options, as Keras writes it.
ConfigValue loss_config(const Loss& loss) {
  ConfigDict options = loss.config();
  if (options.empty()) return loss.name();
  options.insert(options.begin(), {"name", loss.name()});
  return ConfigDict{{"class_name", class_name_of(loss.name())}, {"config", options}};
}

/// Of an Accuracy that does not say which one it is; nullptr: Keras decides by what it is given.
const char* accuracy_class(const Loss& loss, const Shape& outputs) {
  const std::string name = loss.name();
  if (name == "sparse_categorical_crossentropy") return "SparseCategoricalAccuracy";
  if (name == "categorical_crossentropy") return "CategoricalAccuracy";
  if (name == "binary_crossentropy") return outputs.back() == 1 ? "BinaryAccuracy" : "CategoricalAccuracy";
  return nullptr;
}

/// null for one that Keras does not know.
ConfigValue metric_config(const Metric& metric, const Loss& loss, const Shape& outputs) {
  const ConfigValue config = metric.config();
  const char* class_name = typeid(metric) == typeid(Accuracy) ? accuracy_class(loss, outputs) : nullptr;
  const bool is_named_alone =
      config.is_string() && (config.as_string() == "accuracy" || config.as_string() == "acc");
  // Of the name alone Keras 2 makes another metric with labels, when it opens an .h5.
  const bool needs_class =
      config.is_null() || (is_named_alone && loss.name() == "sparse_categorical_crossentropy");
  if (class_name == nullptr || !needs_class) return config;
  return ConfigDict{{"class_name", class_name}, {"config", ConfigDict{{"name", metric.name()}}}};
}

ConfigList metrics_config(const Metrics& metrics, const Loss& loss, const Shape& outputs) {
  ConfigList described;
  for (const auto& metric : metrics)
    if (const ConfigValue config = metric_config(*metric, loss, outputs); !config.is_null())
      described.push_back(config);
  return described;
}

}  // namespace

ConfigValue training_config(const Optimizer& optimizer, const Loss& loss, const Shape& outputs,
                            const Metrics& metrics, const Metrics& weighted_metrics) {
  const ConfigDict settings = optimizer.config();
  // Keras would refuse the file for an optimizer or a loss that it does not know.
  std::vector<std::string> unknown;
  if (settings.empty() || !made_or_null(make_loss, loss.name(), "loss", unknown)) return {};
  // Keras 2 finds AdamW under this name only. (Keras 3 takes it for an AdamW with default numbers.)
  const std::string class_name = optimizer.name() == "AdamW" ? "Custom>AdamW" : optimizer.name();
  return ConfigDict{{"loss", loss_config(loss)},
                    {"metrics", metrics_config(metrics, loss, outputs)},
                    {"weighted_metrics", weighted_metrics.empty()
                                             ? ConfigValue()
                                             : ConfigValue(metrics_config(weighted_metrics, loss, outputs))},
                    {"loss_weights", ConfigValue()},
                    {"optimizer_config", ConfigDict{{"class_name", class_name}, {"config", settings}}}};
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
  return {std::move(net), read_input_shape(described, open_shape)};
}

namespace {

std::unique_ptr<Optimizer> read_optimizer(const ConfigValue& described, const ConfigDict& settings) {
  ConfigValue all = described.at("config");
  if (all.is_dict() && !settings.empty()) {
    ConfigDict merged = all.as_dict();
    merged.insert(merged.end(), settings.begin(), settings.end());
    all = merged;
  }
  return optimizer_from_config(described.at("class_name").as_string(), all);
}

bool says_something(const ConfigValue* value) {
  return value && !value->is_null() && !(value->is_list() && value->as_list().empty()) &&
         !(value->is_dict() && value->as_dict().empty());
}

}  // namespace

DescribedTraining training_from_config(const ConfigValue& config, const ConfigDict& settings,
                                       const std::string& keras_version) {
  DescribedTraining training;
  if (!config.is_dict()) return training;
  if (const ConfigValue* loss = config.find("loss"); says_something(loss))
    training.options.loss = made_or_null(make_loss, of_one_output(*loss), "loss", training.unknown);
  if (const ConfigValue* metrics = config.find("metrics"))
    append_metrics(*metrics, keras_version, training, &CompileOptions::metrics);
  if (const ConfigValue* metrics = config.find("weighted_metrics"))
    append_metrics(*metrics, keras_version, training, &CompileOptions::weighted_metrics);
  if (says_something(config.find("loss_weights")))
    training.unknown_factors.push_back(cat("loss_weights ", to_json(config.at("loss_weights"))));
  const ConfigValue* optimizer = config.find("optimizer_config");
  if (!optimizer || !optimizer->is_dict() || !optimizer->find("class_name") || !optimizer->find("config"))
    return training;
  try {
    training.options.optimizer = read_optimizer(*optimizer, settings);
  } catch (const InputError& error) {
    training.unknown.emplace_back(error.what());
  }
  return training;
}

}  // namespace ronde::inline v0
