#include "weights/training_config.h"

#include <algorithm>
#include <typeinfo>

#include <ronde/core/text.h>
#include <ronde/nn/optimizer_factory.h>
#include <ronde/nn/output_losses.h>

#include "json/json.h"

namespace ronde::inline v0 {

namespace {

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

/// Those that are known here; Keras nests them in a list or a dict for each output.
void append_metrics(const ConfigValue& config, const std::string& keras_version, Metrics& list,
                    std::vector<std::string>& unknown) {
  if (config.is_list()) {
    for (const ConfigValue& inner : config.as_list()) append_metrics(inner, keras_version, list, unknown);
  } else if (config.is_dict() && !config.find("class_name")) {
    for (const auto& [output, inner] : config.as_dict()) append_metrics(inner, keras_version, list, unknown);
  } else if (!config.is_null()) {
    auto metric = made_or_null(make_metric, with_logged_name(config, keras_version), "metric", unknown);
    if (metric && metric->name() == "loss")
      unknown.push_back("a metric that is called loss, as the loss is");
    else if (metric)
      list.push_back(std::move(metric));
  }
}

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

bool keras_has(const Loss& loss) {
  std::vector<std::string> unknown;
  return made_or_null(make_loss, loss.name(), "loss", unknown) != nullptr;
}

bool keras_has(const OutputLosses& losses) {
  return std::all_of(losses.losses().begin(), losses.losses().end(),
                     [](const OutputLoss& part) { return keras_has(*part.loss); });
}

/// What Keras is told of several outputs: lists with an entry for each, or dicts where they have names.
class OfOutputs {
 public:
  explicit OfOutputs(bool named) : named_(named) {}
  void add(const std::string& output, const ConfigValue& value) {
    if (!named_)
      list_.push_back(value);
    else
      dict_.emplace_back(output, value);
  }
  /// Of an output without a loss: a dict says nothing of it, and in a list something stands for it.
  void add_none(const ConfigValue& value) {
    if (!named_) list_.push_back(value);
  }
  ConfigValue config() const { return named_ ? ConfigValue(dict_) : ConfigValue(list_); }

 private:
  bool named_;
  ConfigList list_;
  ConfigDict dict_;
};

void append_losses(const OutputLosses& losses, bool named, ConfigDict& config) {
  OfOutputs functions(named), weights(named), metrics(named);
  auto next = losses.losses().begin();
  for (const NetPart& output : losses.outputs()) {
    if (next == losses.losses().end() || next->output != output.name) {
      functions.add_none({});
      weights.add_none(0.0);
      metrics.add_none(ConfigList());
      continue;
    }
    functions.add(output.name, loss_config(*next->loss));
    weights.add(output.name, next->weight);
    metrics.add(output.name, metrics_config(next->metrics, *next->loss, output.shape.batch_of(1)));
    ++next;
  }
  config.emplace_back("loss", functions.config());
  config.emplace_back("metrics", metrics.config());
  config.emplace_back("weighted_metrics", ConfigValue());
  config.emplace_back("loss_weights", weights.config());
}

void append_loss(const Loss& loss, const Shape& outputs, const Metrics& metrics, const Metrics& weighted,
                 ConfigDict& config) {
  config.emplace_back("loss", loss_config(loss));
  config.emplace_back("metrics", metrics_config(metrics, loss, outputs));
  config.emplace_back("weighted_metrics", weighted.empty()
                                              ? ConfigValue()
                                              : ConfigValue(metrics_config(weighted, loss, outputs)));
  config.emplace_back("loss_weights", ConfigValue());
}

}  // namespace

ConfigValue training_config(const Optimizer& optimizer, const Loss& loss, const Module& net,
                            const Metrics& metrics, const Metrics& weighted_metrics) {
  const ConfigDict settings = optimizer.config();
  const auto* parts = dynamic_cast<const OutputLosses*>(&loss);
  const auto* graph = dynamic_cast<const Graph*>(&net);
  // Keras would refuse the file for an optimizer or a loss that it does not know.
  if (settings.empty() || !(parts ? keras_has(*parts) : keras_has(loss))) return {};
  // Keras 2 finds AdamW under this name only. (Keras 3 takes it for an AdamW with default numbers.)
  const std::string class_name = optimizer.name() == "AdamW" ? "Custom>AdamW" : optimizer.name();
  ConfigDict config;
  if (parts)
    append_losses(*parts, graph && graph->has_named_outputs(), config);
  else
    append_loss(loss, net.output_shape(), metrics, weighted_metrics, config);
  config.emplace_back("optimizer_config", ConfigDict{{"class_name", class_name}, {"config", settings}});
  return config;
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

void read_loss(const ConfigValue& config, const std::string& keras_version, DescribedTraining& training) {
  if (const ConfigValue* loss = config.find("loss"); says_something(loss))
    training.options.loss = made_or_null(make_loss, of_one_output(*loss), "loss", training.unknown);
  if (const ConfigValue* metrics = config.find("metrics"))
    append_metrics(*metrics, keras_version, training.options.metrics, training.unknown);
  if (const ConfigValue* metrics = config.find("weighted_metrics"))
    append_metrics(*metrics, keras_version, training.options.weighted_metrics, training.unknown);
  if (says_something(config.find("loss_weights")))
    training.unknown_factors.push_back(cat("loss_weights ", to_json(config.at("loss_weights"))));
}

/// What a setting says of output `i`: its entry of a list or a dict, or all of it; nullptr: nothing.
const ConfigValue* of_output(const ConfigValue* setting, const std::vector<NetPart>& outputs, std::size_t i) {
  if (!says_something(setting)) return nullptr;
  if (setting->is_list() && setting->as_list().size() == outputs.size())
    setting = &setting->as_list()[i];
  else if (setting->is_dict() && !setting->find("class_name"))
    setting = setting->find(outputs[i].name.c_str());
  return says_something(setting) ? setting : nullptr;
}

/// Whether a dict names something that is no output.
bool names_others(const ConfigValue* setting, const std::vector<NetPart>& outputs) {
  if (!says_something(setting) || !setting->is_dict() || setting->find("class_name")) return false;
  return std::any_of(setting->as_dict().begin(), setting->as_dict().end(), [&](const auto& entry) {
    return std::none_of(outputs.begin(), outputs.end(),
                        [&](const NetPart& output) { return output.name == entry.first; });
  });
}

/// All or none: without one of them the loss would be another.
void read_losses(const ConfigValue& config, const std::string& keras_version,
                 const std::vector<NetPart>& outputs, DescribedTraining& training) {
  for (const char* key : {"loss", "loss_weights", "metrics"})
    if (names_others(config.find(key), outputs))
      return training.unknown.push_back(cat(key, " ", to_json(config.at(key)), " of other outputs"));
  std::vector<OutputLoss> losses;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ConfigValue* described_loss = of_output(config.find("loss"), outputs, i);
    if (described_loss == nullptr) continue;
    OutputLoss loss{.output = outputs[i].name};
    loss.loss = made_or_null(make_loss, *described_loss, "loss", training.unknown);
    if (loss.loss == nullptr) return;
    if (const ConfigValue* weight = of_output(config.find("loss_weights"), outputs, i))
      loss.weight = weight->as_double();
    if (const ConfigValue* metrics = of_output(config.find("metrics"), outputs, i))
      append_metrics(*metrics, keras_version, loss.metrics, training.unknown);
    losses.push_back(std::move(loss));
  }
  if (says_something(config.find("weighted_metrics")))
    training.unknown.push_back("weighted_metrics of several outputs");
  if (!losses.empty()) training.options.loss = std::make_unique<OutputLosses>(outputs, std::move(losses));
}

}  // namespace

DescribedTraining training_from_config(const ConfigValue& config, const ConfigDict& settings,
                                       const std::string& keras_version,
                                       const std::vector<NetPart>& outputs) {
  DescribedTraining training;
  if (!config.is_dict()) return training;
  if (outputs.size() > 1)
    read_losses(config, keras_version, outputs, training);
  else
    read_loss(config, keras_version, training);
  const ConfigValue* optimizer = config.find("optimizer_config");
  if (!optimizer || !optimizer->is_dict() || !optimizer->find("class_name") || !optimizer->find("config"))
    return training;
  try {
    training.options.optimizer = read_optimizer(*optimizer, settings);
    for (const auto& [key, value] : settings)
      if (key == kScheduleLeftOut)
        training.unknown.push_back(cat("the optimizer's schedule of learning rates ", to_json(value)));
  } catch (const InputError& error) {
    training.unknown.emplace_back(error.what());
  }
  return training;
}

}  // namespace ronde::inline v0
