/// What turns layers into ONNX nodes.
///
/// Note [Axes of images]: here images are (N, h, w, c), ONNX' operators want (N, c, h, w). A value remembers
/// in which of the two it is; a layer asks for the one it needs, and only then a Transpose is put in. So a
/// convolutional net has one at its input and one where it is flattened.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ronde/core/ops.h>
#include <ronde/nn/module.h>

#include "export/onnx_graph.h"

namespace ronde::inline v0 {

/// The result of a node, or the net's input.
struct OnnxValue {
  std::string name;
  Shape shape;  ///< without the batch, as Ronde has it: (h, w, c)
  bool channels_first = false;
};

class OnnxBuilder {
 public:
  explicit OnnxBuilder(OnnxGraph& graph) : graph_(graph) {}
  OnnxGraph& graph() { return graph_; }

  /// The value with its axes in that order.
  OnnxValue channels_first(const OnnxValue& value) { return with_axes(value, true); }
  OnnxValue channels_last(const OnnxValue& value) { return with_axes(value, false); }
  /// A node with one output of that shape whose axes lie as those of the first input.
  OnnxValue add(const std::string& op, const std::string& name, const std::vector<OnnxValue>& inputs,
                const std::vector<std::string>& constants, const Shape& shape,
                std::vector<OnnxAttribute> attributes = {});
  /// A weight of the layer, as it lies in memory. Added once, also when the layer is called twice.
  Tensor weight(const Module& layer, const std::string& name) const;
  bool has_weight(const Module& layer, const std::string& name) const;
  std::string constant(const std::string& name, const Tensor& values);

 private:
  OnnxValue with_axes(const OnnxValue& value, bool channels_first);

  OnnxGraph& graph_;
  std::map<std::string, std::string> transposed_;  // by the name of the value
  std::map<std::string, std::string> constants_;
};

/// The inputs of one call of a layer, and the layer's config to read.
struct OnnxCall {
  OnnxBuilder& builder;
  const Module& layer;
  const std::vector<OnnxValue>& inputs;
  ConfigValue config;
  std::string part = {};  ///< behind the layer's name, of one that is several nodes

  const OnnxValue& input() const { return inputs.front(); }
  std::string name() const { return layer.label() + part; }
  /// Of two axes, or of the one that a sequence has: {1, k}.
  Size2d size(const char* key) const;
  bool is(const char* key, const char* text) const { return config.at(key).as_string() == text; }
};

using OnnxConverter = OnnxValue (*)(const OnnxCall& call);

/// The value with these extents, -1 for what is left over and 0 for as many as there are; `shape` has no
/// batch.
OnnxValue onnx_reshaped(OnnxBuilder& builder, const OnnxValue& value, const Shape& extents,
                        const Shape& shape, const std::string& name);
/// The vectors along `axes`, which count the batch, as long as 1.
OnnxValue onnx_unit_length(OnnxBuilder& builder, const OnnxValue& value,
                           const std::vector<std::int64_t>& axes, const std::string& name);
/// activation(value); `name` is that of the layer.
OnnxValue onnx_activation(OnnxBuilder& builder, const std::string& kind, const OnnxValue& value,
                          const std::string& name);

// Defined by subject in onnx_attention.cpp, onnx_images.cpp, onnx_joins.cpp, onnx_margins.cpp,
// onnx_normalizations.cpp, onnx_recurrent.cpp, onnx_vectors.cpp; of nets in layers in onnx_export.cpp.
OnnxValue onnx_activation_layer(const OnnxCall& call);
OnnxValue onnx_add(const OnnxCall& call);
OnnxValue onnx_additive_attention(const OnnxCall& call);
OnnxValue onnx_attention(const OnnxCall& call);
OnnxValue onnx_average(const OnnxCall& call);
OnnxValue onnx_custom_scale_layer(const OnnxCall& call);
OnnxValue onnx_average_pooling(const OnnxCall& call);
OnnxValue onnx_batch_normalization(const OnnxCall& call);
OnnxValue onnx_bidirectional(const OnnxCall& call);
OnnxValue onnx_concatenate(const OnnxCall& call);
OnnxValue onnx_conv(const OnnxCall& call);
OnnxValue onnx_conv_transpose(const OnnxCall& call);
OnnxValue onnx_cropping1d(const OnnxCall& call);
OnnxValue onnx_cropping2d(const OnnxCall& call);
OnnxValue onnx_dense(const OnnxCall& call);
OnnxValue onnx_depthwise_conv(const OnnxCall& call);
OnnxValue onnx_dot(const OnnxCall& call);
OnnxValue onnx_elu(const OnnxCall& call);
OnnxValue onnx_flatten(const OnnxCall& call);
OnnxValue onnx_global_average_pooling1d(const OnnxCall& call);
OnnxValue onnx_global_average_pooling2d(const OnnxCall& call);
OnnxValue onnx_global_max_pooling1d(const OnnxCall& call);
OnnxValue onnx_global_max_pooling2d(const OnnxCall& call);
OnnxValue onnx_group_normalization(const OnnxCall& call);
OnnxValue onnx_identity(const OnnxCall& call);
OnnxValue onnx_layer_normalization(const OnnxCall& call);
OnnxValue onnx_leaky_relu(const OnnxCall& call);
OnnxValue onnx_max_pooling(const OnnxCall& call);
OnnxValue onnx_maximum(const OnnxCall& call);
OnnxValue onnx_minimum(const OnnxCall& call);
OnnxValue onnx_multi_head_attention(const OnnxCall& call);
OnnxValue onnx_multiply(const OnnxCall& call);
OnnxValue onnx_normalization(const OnnxCall& call);
OnnxValue onnx_permute(const OnnxCall& call);
OnnxValue onnx_prelu(const OnnxCall& call);
OnnxValue onnx_recurrent(const OnnxCall& call);
OnnxValue onnx_relu(const OnnxCall& call);
OnnxValue onnx_repeat_vector(const OnnxCall& call);
OnnxValue onnx_rms_normalization(const OnnxCall& call);
OnnxValue onnx_rescaling(const OnnxCall& call);
OnnxValue onnx_layer_scale(const OnnxCall& call);
OnnxValue onnx_reshape(const OnnxCall& call);
OnnxValue onnx_separable_conv(const OnnxCall& call);
OnnxValue onnx_softmax(const OnnxCall& call);
OnnxValue onnx_subtract(const OnnxCall& call);
OnnxValue onnx_time_distributed(const OnnxCall& call);
OnnxValue onnx_unit_normalization(const OnnxCall& call);
OnnxValue onnx_up_sampling1d(const OnnxCall& call);
OnnxValue onnx_up_sampling2d(const OnnxCall& call);
OnnxValue onnx_zero_padding1d(const OnnxCall& call);
OnnxValue onnx_zero_padding2d(const OnnxCall& call);

}  // namespace ronde::inline v0
