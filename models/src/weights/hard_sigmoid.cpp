#include "weights/hard_sigmoid.h"

#include <ronde/nn/activation.h>

namespace ronde::inline v0 {

namespace {

/// Keys in a layer's config.
constexpr const char* kActivations[] = {"activation", "recurrent_activation"};

bool is_activation(const std::string& key) {
  return key == kActivations[0] || key == kActivations[1];
}

/// By its name alone.
bool is_hard_sigmoid(const ConfigValue& value) {
  return value.is_string() && value.as_string() == to_string(Activation::hard_sigmoid);
}

void refuse_in(const ConfigValue& value) {
  if (value.is_list())
    for (const ConfigValue& item : value.as_list()) refuse_in(item);
  if (!value.is_dict()) return;
  const ConfigValue* name = value.find("name");
  for (const auto& [key, item] : value.as_dict()) {
    require<InputError>(!is_activation(key) || !is_hard_sigmoid(item), "layer \"",
                        name && name->is_string() ? name->as_string() : "",
                        "\": the hard_sigmoid of Keras 2, which is another function than Keras 3's, is not "
                        "supported");
    refuse_in(item);
  }
}

}  // namespace

ConfigValue with_named_hard_sigmoid(const ConfigValue& net) {
  if (net.is_list()) {
    ConfigList list;
    for (const ConfigValue& item : net.as_list()) list.push_back(with_named_hard_sigmoid(item));
    return list;
  }
  if (!net.is_dict()) return net;
  ConfigDict dict;
  for (const auto& [key, item] : net.as_dict()) {
    if (is_activation(key) && is_hard_sigmoid(item))
      dict.emplace_back(key, ConfigDict{{"module", "keras.ops"},
                                        {"class_name", "function"},
                                        {"config", item},
                                        {"registered_name", item}});
    else
      dict.emplace_back(key, with_named_hard_sigmoid(item));
  }
  return dict;
}

void refuse_old_hard_sigmoid(const ConfigValue& net, const std::string& keras_version) {
  if (keras_version.empty() || keras_version.front() < '3') refuse_in(net);
}

}  // namespace ronde::inline v0
