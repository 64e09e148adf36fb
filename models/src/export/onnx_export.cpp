#include <map>
#include <set>

#include <ronde/models/export_onnx.h>
#include <ronde/models/file_io.h>
#include <ronde/nn/time_distributed.h>
#include <ronde/nn/training_only.h>

#include "export/layer_calls.h"
#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

struct Exported {
  const char* class_name;
  OnnxConverter convert;
};

constexpr Exported kConverters[] = {
    {"Activation", onnx_activation_layer},
    {"Add", onnx_add},
    {"AdditiveAttention", onnx_additive_attention},
    {"Attention", onnx_attention},
    {"Average", onnx_average},
    {"AveragePooling1D", onnx_average_pooling},
    {"AveragePooling2D", onnx_average_pooling},
    {"BatchNormalization", onnx_batch_normalization},
    {"Bidirectional", onnx_bidirectional},
    {"Concatenate", onnx_concatenate},
    {"Conv1D", onnx_conv},
    {"Conv1DTranspose", onnx_conv_transpose},
    {"Conv2D", onnx_conv},
    {"Conv2DTranspose", onnx_conv_transpose},
    {"Cropping1D", onnx_cropping1d},
    {"Cropping2D", onnx_cropping2d},
    {"CustomScaleLayer", onnx_custom_scale_layer},
    {"Dense", onnx_dense},
    {"DepthwiseConv1D", onnx_depthwise_conv},
    {"DepthwiseConv2D", onnx_depthwise_conv},
    {"Dot", onnx_dot},
    {"Dropout", onnx_identity},
    {"ELU", onnx_elu},
    {"Flatten", onnx_flatten},
    {"GRU", onnx_recurrent},
    {"GlobalAveragePooling1D", onnx_global_average_pooling1d},
    {"GlobalAveragePooling2D", onnx_global_average_pooling2d},
    {"GlobalMaxPooling1D", onnx_global_max_pooling1d},
    {"GlobalMaxPooling2D", onnx_global_max_pooling2d},
    {"GroupNormalization", onnx_group_normalization},
    {"LSTM", onnx_recurrent},
    {"LayerNormalization", onnx_layer_normalization},
    {"LayerScale", onnx_layer_scale},
    {"LeakyReLU", onnx_leaky_relu},
    {"MaxPooling1D", onnx_max_pooling},
    {"MaxPooling2D", onnx_max_pooling},
    {"Maximum", onnx_maximum},
    {"Minimum", onnx_minimum},
    {"MultiHeadAttention", onnx_multi_head_attention},
    {"Multiply", onnx_multiply},
    {"Normalization", onnx_normalization},
    {"PReLU", onnx_prelu},
    {"Permute", onnx_permute},
    {"RMSNormalization", onnx_rms_normalization},
    {"ReLU", onnx_relu},
    {"RepeatVector", onnx_repeat_vector},
    {"Rescaling", onnx_rescaling},
    {"Reshape", onnx_reshape},
    {"SeparableConv1D", onnx_separable_conv},
    {"SeparableConv2D", onnx_separable_conv},
    {"SimpleRNN", onnx_recurrent},
    {"Softmax", onnx_softmax},
    {"Subtract", onnx_subtract},
    {"TimeDistributed", onnx_time_distributed},
    {"UnitNormalization", onnx_unit_normalization},
    {"UpSampling1D", onnx_up_sampling1d},
    {"UpSampling2D", onnx_up_sampling2d},
    {"ZeroPadding1D", onnx_zero_padding1d},
    {"ZeroPadding2D", onnx_zero_padding2d},
};

OnnxConverter find_converter(const Module& layer) {
  if (dynamic_cast<const TrainingOnly*>(&layer) != nullptr) return onnx_identity;
  std::string known;
  for (const Exported& entry : kConverters) {
    if (layer.class_name() == entry.class_name) return entry.convert;
    known += cat(known.empty() ? "" : ", ", entry.class_name);
  }
  throw Error(cat("[onnx] ", layer.label(), " is a ", layer.class_name(),
                  ", which cannot be exported; a net may be made of ", known));
}

using Ports = std::vector<OnnxPort>;

/// Their names are the net's, or `name` where there is one alone.
Ports ports(const std::vector<NetPart>& parts, const std::string& name) {
  if (parts.size() == 1) return {{name, parts.front().shape}};
  Ports ports;
  for (const NetPart& part : parts) ports.push_back({part.name, part.shape});
  return ports;
}

void reserve_names(const Ports& inputs, const Ports& outputs, OnnxGraph& graph) {
  std::set<std::string> names;
  for (const Ports* all : {&inputs, &outputs})
    for (const OnnxPort& port : *all) {
      require<UsageError>(names.insert(port.name).second,
                          "[onnx] two of the inputs and outputs are called \"", port.name, "\"");
      graph.reserve(port.name);
    }
}

/// Runs all calls with `values`, the net's inputs, and returns its outputs, in Ronde's order of axes.
std::vector<OnnxValue> convert(const LayerCalls& net, std::vector<OnnxValue> values, OnnxBuilder& builder) {
  for (const LayerCall& call : net.calls) {
    std::vector<OnnxValue> taken;
    for (const std::size_t i : call.inputs) taken.push_back(values.at(i));
    const OnnxConverter convert_layer = find_converter(*call.layer);
    values.push_back(convert_layer({builder, *call.layer, taken, call.layer->config()}));
  }
  std::vector<OnnxValue> outputs;
  for (const std::size_t i : net.output_values) outputs.push_back(builder.channels_last(values.at(i)));
  return outputs;
}

std::vector<OnnxValue> values_of(const Ports& inputs) {
  std::vector<OnnxValue> values;
  for (const OnnxPort& input : inputs) values.push_back({input.name, input.shape});
  return values;
}

/// Calls values like the outputs that they are. An input, or what is an output already, is first copied.
void name_outputs(const std::vector<OnnxValue>& values, const Ports& inputs, const Ports& outputs,
                  OnnxBuilder& builder) {
  std::map<std::string, std::string> taken;  // names of values, and those that they have now
  for (const OnnxPort& input : inputs) taken.emplace(input.name, input.name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    OnnxValue value = values[i];
    if (const auto found = taken.find(value.name); found != taken.end()) {
      value.name = found->second;
      value = builder.add("Identity", "identity", {value}, {}, value.shape);
    }
    builder.graph().rename(value.name, outputs[i].name);
    taken.emplace(values[i].name, outputs[i].name);
  }
}

}  // namespace

/// The steps of all samples are one batch to the layer.
OnnxValue onnx_time_distributed(const OnnxCall& call) {
  const Module& layer = dynamic_cast<const TimeDistributed&>(call.layer).layer();
  const OnnxValue x = call.builder.channels_last(call.input());
  const OnnxValue steps = onnx_reshaped(call.builder, x, x.shape.tail(1).batch_of(-1), x.shape.tail(1),
                                        cat(call.name(), "/steps"));
  const OnnxValue y = convert(layer_calls(layer), {steps}, call.builder).front();
  const Shape shape = y.shape.batch_of(x.shape[0]);
  return onnx_reshaped(call.builder, y, shape.batch_of(-1), shape, call.name());
}

std::string encode_onnx(const Module& net, const OnnxOptions& options) {
  require(net.is_built(), "[onnx] the net is not built: its shapes are not known");
  const LayerCalls calls = layer_calls(net);
  const Ports inputs = ports(calls.inputs, options.input), outputs = ports(calls.outputs, options.output);
  OnnxGraph graph;
  reserve_names(inputs, outputs, graph);
  OnnxBuilder builder(graph);
  name_outputs(convert(calls, values_of(inputs), builder), inputs, outputs, builder);
  return graph.encode(options.name, inputs, outputs);
}

void write_onnx(const std::string& path, const Module& net, const OnnxOptions& options) {
  atomic_write_file(path, encode_onnx(net, options));
}

}  // namespace ronde::inline v0
