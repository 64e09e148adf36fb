#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>

#include "layer_config.h"

namespace ronde::inline v0 {

// Each is defined in its layer's file, beside config().
template <>
std::unique_ptr<Module> read_layer<AveragePooling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<BatchNormalization>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Conv2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Dense>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<DepthwiseConv2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Dropout>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Flatten>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<GlobalAveragePooling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<MaxPooling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Sequential>(const LayerConfig&);

namespace {

std::unique_ptr<Module> read_activation(const LayerConfig& config) {
  return std::make_unique<Activation>(config.activation());
}

/// The layer ReLU, which has more settings than the function.
std::unique_ptr<Module> read_relu(const LayerConfig& config) {
  config.expect_null("max_value");
  for (const char* key : {"negative_slope", "threshold"})
    if (config.number(key, 0.0) != 0.0) config.refuse(key, "only 0 is supported");
  return std::make_unique<Activation>(Activation::relu);
}

std::unique_ptr<Module> read_softmax(const LayerConfig& config) {
  config.expect_last_axis("axis");
  return std::make_unique<Activation>(Activation::softmax);
}

struct Entry {
  const char* class_name;
  std::unique_ptr<Module> (*read)(const LayerConfig& config);
};

constexpr Entry kLayers[] = {
    {"Activation", read_activation},
    {"AveragePooling2D", read_layer<AveragePooling2D>},
    {"BatchNormalization", read_layer<BatchNormalization>},
    {"Conv2D", read_layer<Conv2D>},
    {"Dense", read_layer<Dense>},
    {"DepthwiseConv2D", read_layer<DepthwiseConv2D>},
    {"Dropout", read_layer<Dropout>},
    {"Flatten", read_layer<Flatten>},
    {"GlobalAveragePooling2D", read_layer<GlobalAveragePooling2D>},
    {"MaxPooling2D", read_layer<MaxPooling2D>},
    {"ReLU", read_relu},
    {"Sequential", read_layer<Sequential>},
    {"Softmax", read_softmax},
};

}  // namespace

std::unique_ptr<Module> layer_from_config(const std::string& class_name, const ConfigValue& config) {
  const std::string plain = class_name.substr(class_name.rfind('>') + 1);
  for (const Entry& entry : kLayers) {
    if (plain != entry.class_name) continue;
    const LayerConfig reader(plain, config);
    try {
      std::unique_ptr<Module> layer = entry.read(reader);
      const std::string name = reader.text("name", "");
      if (!name.empty()) layer->set_name(name);
      if (!reader.boolean("trainable", true)) layer->set_trainable(false);
      return layer;
    } catch (const UsageError& error) {
      // What would be a wrong argument in a program is a wrong value in a file.
      throw InputError(error.what());
    }
  }
  std::string known;
  for (const Entry& entry : kLayers) known += cat(known.empty() ? "" : ", ", entry.class_name);
  throw InputError(cat("layer class \"", class_name, "\" is not supported; known are ", known));
}

std::vector<std::string> layer_class_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kLayers) names.emplace_back(entry.class_name);
  return names;
}

}  // namespace ronde::inline v0
