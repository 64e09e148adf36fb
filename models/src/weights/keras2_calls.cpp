#include "weights/keras2_calls.h"

#include <ronde/nn/graph.h>
#include <ronde/nn/multi_head_attention.h>

namespace ronde::inline v0 {

namespace {

/// {"args": [x, y], "kwargs": {...}} -> [[x, 0, 0, {"value": [y, 0, 0], ...}]]
ConfigValue call_for_keras2(const ConfigValue& call) {
  ConfigDict arguments;
  for (const ConfigValue& tensor : call.at("args").as_list())
    arguments.emplace_back(MultiHeadAttention::kInputNames.at(arguments.size()), tensor);
  const ConfigDict& named = call.at("kwargs").as_dict();
  arguments.insert(arguments.end(), named.begin(), named.end());
  ConfigList query;
  for (auto& [name, value] : arguments)
    if (value.is_dict()) value = ConfigValue(value.at("config").at("keras_history"));
  std::erase_if(arguments, [&](const auto& argument) {
    if (argument.first == "query") query = argument.second.as_list();
    return argument.first == "query";
  });
  query.emplace_back(arguments);
  ConfigList inputs;
  inputs.emplace_back(query);
  return inputs;
}

ConfigValue attention_for_keras2(const ConfigValue& layer) {
  ConfigDict result = layer.as_dict();
  for (auto& [key, value] : result) {
    if (key == "config") {
      ConfigDict config = value.as_dict();
      for (const char* shape : {"query_shape", "value_shape", "key_shape"}) config.emplace_back(shape, {});
      value = config;
    } else if (key == "inbound_nodes") {
      ConfigList calls;
      for (const ConfigValue& call : value.as_list()) calls.push_back(call_for_keras2(call));
      value = calls;
    }
  }
  return result;
}

}  // namespace

ConfigValue with_calls_of_keras2(const ConfigValue& net) {
  if (net.is_list()) {
    ConfigList list;
    for (const ConfigValue& item : net.as_list()) list.push_back(with_calls_of_keras2(item));
    return list;
  }
  if (!net.is_dict()) return net;
  const ConfigValue* const class_name = net.find("class_name");
  if (class_name && class_name->is_string() && class_name->as_string() == "MultiHeadAttention")
    return attention_for_keras2(net);
  ConfigDict dict;
  for (const auto& [key, item] : net.as_dict()) dict.emplace_back(key, with_calls_of_keras2(item));
  return dict;
}

void require_order_of_keras2(const Module& net) {
  if (const auto* graph = dynamic_cast<const Graph*>(&net)) {
    const std::vector<Module*> layers = graph->layers();
    require<UsageError>(layers == graph->layers_by(1) && layers == graph->layers_by(3), "[save] Keras 2 may ",
                        "find the layers of ", net.label(), " in another order, as a MultiHeadAttention has ",
                        "layers in front of its key; save the weights, or the net for Keras 3");
  }
  for (const Module* child : net.children()) require_order_of_keras2(*child);
}

}  // namespace ronde::inline v0
