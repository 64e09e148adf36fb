// A net's description in a model file: JSON, then the layers, loss and optimizer that it names.
#include "json/json.h"
#include "weights/keras_config.h"
#include "weights/training_config.h"

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  const ConfigValue config = from_json(std::string(bytes));
  if (config.is_dict() && config.find("optimizer_config") != nullptr)
    for (const std::vector<NetPart>& outputs : {std::vector<NetPart>(), {{"p", {2}}, {"v", {1}}}})
      training_from_config(config, {}, "3", outputs);
  else
    net_from_config(config, "3");
}

std::vector<std::string> seeds() {
  return {
      R"({"class_name":"Sequential","config":{"name":"s","layers":[
{"class_name":"InputLayer","config":{"batch_input_shape":[null,8,8,1],"dtype":"float32","name":"i"}},
{"class_name":"Conv2D","config":{"name":"c","filters":2,"kernel_size":[3,3],"strides":[1,1],"padding":"same",
"activation":"relu","use_bias":true}},
{"class_name":"MaxPooling2D","config":{"name":"p","pool_size":[2,2],"strides":[2,2],"padding":"valid"}},
{"class_name":"BatchNormalization","config":{"name":"b","axis":[3],"momentum":0.99,"epsilon":0.001}},
{"class_name":"Dropout","config":{"name":"d","rate":0.25}},{"class_name":"Flatten","config":{"name":"f"}},
{"class_name":"Dense","config":{"name":"o","units":3,"activation":"softmax"}}]}})",
      R"({"class_name":"Functional","config":{"name":"g","layers":[
{"class_name":"InputLayer","config":{"batch_input_shape":[null,4],"name":"x"},"name":"x","inbound_nodes":[]},
{"class_name":"Dense","config":{"name":"a","units":4},"name":"a","inbound_nodes":[[["x",0,0,{}]]]},
{"class_name":"Add","config":{"name":"s"},"name":"s","inbound_nodes":[[["x",0,0,{}],["a",0,0,{}]]]}],
"input_layers":[["x",0,0]],"output_layers":[["s",0,0]]}})",
      R"({"class_name":"Functional","config":{"name":"g","layers":[
{"class_name":"InputLayer","config":{"batch_input_shape":[null,4],"name":"x"},"name":"x","inbound_nodes":[]},
{"class_name":"InputLayer","config":{"batch_shape":[null,2,1],"name":"y"},"name":"y","inbound_nodes":[]},
{"class_name":"Flatten","config":{"name":"f"},"name":"f","inbound_nodes":[[["y",0,0,{}]]]},
{"class_name":"Concatenate","config":{"name":"c"},"name":"c","inbound_nodes":[[["x",0,0,{}],["f",0,0,{}]]]}],
"input_layers":[["x",0,0],["y",0,0]],"output_layers":{"a":["c",0,0],"b":["f",0,0]}}})",
      R"({"loss":{"p":"mse","v":"mae"},"loss_weights":[1,0.5],"metrics":[["mae"],[]],"weighted_metrics":null,
"optimizer_config":{"class_name":"SGD","config":{"name":"SGD","learning_rate":0.1}}})",
      R"({"loss":{"class_name":"CategoricalCrossentropy","config":{"from_logits":true,"label_smoothing":0.1}},
"metrics":["accuracy"],"optimizer_config":{"class_name":"SGD","config":{"name":"SGD","learning_rate":0.1,
"momentum":0.9,"nesterov":true}}})"};
}

}  // namespace ronde::fuzz
