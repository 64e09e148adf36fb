#include <ronde/models/export_onnx.h>
#include <ronde/models/file_io.h>
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
    {"Average", onnx_average},
    {"AveragePooling2D", onnx_average_pooling2d},
    {"BatchNormalization", onnx_batch_normalization},
    {"Concatenate", onnx_concatenate},
    {"Conv2D", onnx_conv2d},
    {"Conv2DTranspose", onnx_conv2d_transpose},
    {"Cropping2D", onnx_cropping2d},
    {"CustomScaleLayer", onnx_custom_scale_layer},
    {"Dense", onnx_dense},
    {"DepthwiseConv2D", onnx_depthwise_conv2d},
    {"Dropout", onnx_identity},
    {"Flatten", onnx_flatten},
    {"GlobalAveragePooling1D", onnx_global_average_pooling1d},
    {"GlobalAveragePooling2D", onnx_global_average_pooling2d},
    {"GlobalMaxPooling2D", onnx_global_max_pooling2d},
    {"LayerNormalization", onnx_layer_normalization},
    {"LayerScale", onnx_layer_scale},
    {"LeakyReLU", onnx_leaky_relu},
    {"MaxPooling2D", onnx_max_pooling2d},
    {"Maximum", onnx_maximum},
    {"Minimum", onnx_minimum},
    {"Multiply", onnx_multiply},
    {"Normalization", onnx_normalization},
    {"ReLU", onnx_relu},
    {"Rescaling", onnx_rescaling},
    {"Reshape", onnx_reshape},
    {"SeparableConv2D", onnx_separable_conv2d},
    {"Softmax", onnx_softmax},
    {"Subtract", onnx_subtract},
    {"UpSampling2D", onnx_up_sampling2d},
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

/// Runs all calls and returns the net's output, in Ronde's order of axes.
OnnxValue convert(const LayerCalls& net, const OnnxValue& input, OnnxBuilder& builder) {
  std::vector<OnnxValue> values{input};
  for (const LayerCall& call : net.calls) {
    std::vector<OnnxValue> inputs;
    for (const std::size_t i : call.inputs) inputs.push_back(values.at(i));
    const OnnxConverter convert_layer = find_converter(*call.layer);
    values.push_back(convert_layer({builder, *call.layer, inputs, call.layer->config()}));
  }
  return builder.channels_last(values.at(net.output));
}

}  // namespace

std::string encode_onnx(const Module& net, const OnnxOptions& options) {
  require(net.is_built(), "[onnx] the net is not built: its shapes are not known");
  require<UsageError>(options.input != options.output, "[onnx] input and output are both called \"",
                      options.input, "\"");
  OnnxGraph graph;
  graph.reserve(options.input);
  graph.reserve(options.output);
  OnnxBuilder builder(graph);
  const OnnxValue input{options.input, net.input_shape()};
  OnnxValue output = convert(layer_calls(net), input, builder);
  if (output.name == options.input) output = builder.add("Identity", "identity", {output}, {}, output.shape);
  graph.rename(output.name, options.output);
  return graph.encode(options.name, {{options.input, input.shape}}, {{options.output, output.shape}});
}

void write_onnx(const std::string& path, const Module& net, const OnnxOptions& options) {
  atomic_write_file(path, encode_onnx(net, options));
}

}  // namespace ronde::inline v0
