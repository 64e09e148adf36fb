#include "weights/left_out.h"

#include <map>

#include <ronde/core/counted.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/layer_factory.h>

#include "weights/input_dtypes.h"

namespace ronde::inline v0 {

namespace {

/// Appends all layers, those of nested nets, of a Bidirectional and of a TimeDistributed too.
void collect_layers(const ConfigValue& net, std::vector<const ConfigValue*>& found) {
  const ConfigValue* config = net.is_dict() ? net.find("config") : nullptr;
  if (config == nullptr) return;
  if (const ConfigList* layers = layers_in(*config))
    for (const ConfigValue& layer : *layers) {
      found.push_back(&layer);
      collect_layers(layer, found);
    }
  if (!config->is_dict()) return;
  for (const char* key : {"layer", "backward_layer"})
    if (const ConfigValue* layer = config->find(key); layer && layer->is_dict()) {
      found.push_back(layer);
      collect_layers(*layer, found);
    }
}

/// visit(class name, config) for each.
template <class Visit>
void for_each_layer(const ConfigValue& net, Visit&& visit) {
  std::vector<const ConfigValue*> layers;
  collect_layers(net, layers);
  for (const ConfigValue* layer : layers)
    if (layer->at("config").is_dict()) visit(layer->at("class_name").as_string(), layer->at("config"));
}

std::string name_in(const ConfigValue& config) {
  const ConfigValue* name = config.find("name");
  return name && name->is_string() ? name->as_string() : "a layer";
}

bool is_known_initializer(const ConfigValue& described) {
  try {
    Initializer::from_config(described);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

void append_initializers(const ConfigValue& config, std::vector<std::string>& unknown) {
  for (const auto& [key, value] : config.as_dict())
    if (key.ends_with("_initializer") && !value.is_null() && !is_known_initializer(value))
      unknown.push_back(cat(key, " of ", name_in(config)));
}

void append_options(const std::string& class_name, const ConfigValue& config,
                    std::vector<std::string>& unknown) {
  if (class_name == "InputLayer") return;
  for (const std::string& option : unknown_options(class_name, config))
    unknown.push_back(cat(option, " of ", name_in(config)));
}

/// Keras' name of what a model with these options computes in.
std::string policy_of(const ModelOptions& options) {
  if (options.compute_dtype && *options.compute_dtype == DType::bf16) return "mixed_bfloat16";
  return options.dtype == DType::f64 ? "float64" : options.dtype == DType::bf16 ? "bfloat16" : "float32";
}

/// Of layers and inputs that another dtype was asked for than float32, which is nobody's wish but Keras'
/// default.
std::vector<std::string> other_dtypes(const ConfigValue& described, const Module& net,
                                      const std::string& here) {
  std::map<std::string, std::int64_t> layers;
  for_each_layer(described, [&](const std::string& class_name, const ConfigValue& config) {
    if (class_name != "InputLayer" && !config.find("layers")) ++layers[dtype_in(config)];
  });
  std::set<std::string> inputs = input_dtypes(described, net);
  for (const auto& [dtype, count] : layers) inputs.erase(dtype);  // which are told of, if anything is
  for (const std::string& expected : {std::string(), std::string("float32"), here}) {
    layers.erase(expected);
    inputs.erase(expected);
  }
  inputs.erase("float64");  // no digits are lost there
  std::vector<std::string> lines;
  for (const auto& [dtype, count] : layers)
    lines.push_back(cat("dtype ", dtype, " of ", counted(count, "layer"), ": computed in ", here, " here"));
  for (const std::string& dtype : inputs)
    lines.push_back(cat("dtype ", dtype,
                        " of an input: other numbers are used as they are here, where Keras "
                        "makes ",
                        dtype, " of them"));
  return lines;
}

}  // namespace

void LeftOut::say(const Warn& warn) const {
  for (const std::string& line : of_training) warn_or_print(warn, cat(path, ": left out: ", line));
  for (const std::string& line : of_loss) warn_or_print(warn, cat(path, ": left out: ", line));
  if (!of_layers.empty())
    warn_or_print(warn, cat(path, ": ", joined(of_layers),
                            ": not supported, so no part of loss or training here; kept in what is saved"));
  if (!of_options.empty())
    warn_or_print(warn, cat(path, ": ", joined(of_options),
                            ": not known here, so without effect; kept in what is saved"));
  if (!of_start.empty())
    warn_or_print(warn,
                  cat(path, ": ", joined(of_start),
                      ": not supported; the weights are the file's, but what is saved here names another"));
  for (const std::string& line : of_computing) warn_or_print(warn, cat(path, ": ", line));
  if (renamed > 0)
    warn_or_print(warn, cat(path, ": '/' in the ",
                            renamed == 1 ? "name of 1 layer" : cat("names of ", renamed, " layers"),
                            " is '_' here, as Keras 3 wants it"));
}

std::string LeftOut::why_untrainable(bool is_compiled) const {
  if (!is_compiled && !of_training.empty()) return cat(path, ": ", joined(of_training));
  std::vector<std::string> missing = of_layers;
  missing.insert(missing.end(), of_loss.begin(), of_loss.end());
  return missing.empty() ? std::string() : cat(path, ": ", joined(missing), " would not be trained with");
}

LeftOut find_left_out(const std::string& path, const ConfigValue& described, const Module& net,
                      const DescribedTraining& training, const ModelOptions& options) {
  LeftOut left_out{.path = path,
                   .of_training = training.unknown,
                   .of_loss = training.unknown_factors,
                   .of_layers = left_out_of_training(net),
                   .of_computing = other_dtypes(described, net, policy_of(options))};
  for_each_layer(described, [&](const std::string& class_name, const ConfigValue& config) {
    append_initializers(config, left_out.of_start);
    append_options(class_name, config, left_out.of_options);
    if (name_in(config).find('/') != std::string::npos) ++left_out.renamed;
  });
  return left_out;
}

}  // namespace ronde::inline v0
