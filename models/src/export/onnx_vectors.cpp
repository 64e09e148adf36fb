// Layers that do not care for neighbours: dense, activations, and those that only reshape.
#include <cmath>

#include <ronde/nn/elu.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/global_max_pooling1d.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/repeat_vector.h>
#include <ronde/nn/reshape.h>

#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

OnnxValue same_shape(OnnxBuilder& builder, const std::string& op, const std::string& name, const OnnxValue& x,
                     std::vector<OnnxAttribute> attributes = {}) {
  return builder.add(op, name, {x}, {}, x.shape, std::move(attributes));
}

/// x op constant
OnnxValue with_constant(OnnxBuilder& builder, const std::string& op, const std::string& name,
                        const OnnxValue& x, double constant) {
  return builder.add(op, name, {x},
                     {builder.constant(cat("constant/", constant), Tensor::full({}, constant))}, x.shape);
}

/// x / 2 * (1 + erf(x / sqrt 2)); opset 13 has no operator for it.
OnnxValue gelu(OnnxBuilder& builder, const OnnxValue& x, const std::string& name) {
  const OnnxValue scaled_x = with_constant(builder, "Mul", cat(name, "/scaled"), x, std::sqrt(0.5));
  const OnnxValue erf = same_shape(builder, "Erf", cat(name, "/erf"), scaled_x);
  const OnnxValue gate = with_constant(builder, "Add", cat(name, "/gate"), erf, 1.0);
  const OnnxValue half = with_constant(builder, "Mul", cat(name, "/half"), x, 0.5);
  return builder.add("Mul", cat(name, "/gelu"), {half, gate}, {}, x.shape);
}

/// x * gate
OnnxValue gated(OnnxBuilder& builder, const OnnxValue& x, const OnnxValue& gate, const std::string& name) {
  return builder.add("Mul", name, {x, gate}, {}, x.shape);
}

OnnxValue silu(OnnxBuilder& builder, const OnnxValue& x, const std::string& name) {
  return gated(builder, x, same_shape(builder, "Sigmoid", cat(name, "/gate"), x), cat(name, "/silu"));
}

OnnxValue relu6(OnnxBuilder& builder, const OnnxValue& x, const std::string& name) {
  const OnnxValue positive = same_shape(builder, "Relu", cat(name, "/unbounded"), x);
  return with_constant(builder, "Min", cat(name, "/relu6"), positive, 6.0);
}

/// relu6(x + 3) / 6
OnnxValue hard_sigmoid(OnnxBuilder& builder, const OnnxValue& x, const std::string& name) {
  return same_shape(builder, "HardSigmoid", name, x, {{"alpha", 1.0f / 6.0f}, {"beta", 0.5f}});
}

OnnxValue hard_silu(OnnxBuilder& builder, const OnnxValue& x, const std::string& name) {
  return gated(builder, x, hard_sigmoid(builder, x, cat(name, "/gate")), cat(name, "/hard_silu"));
}

OnnxValue mish(OnnxBuilder& builder, const OnnxValue& x, const std::string& name) {
  const OnnxValue softplus = same_shape(builder, "Softplus", cat(name, "/softplus"), x);
  return gated(builder, x, same_shape(builder, "Tanh", cat(name, "/gate"), softplus), cat(name, "/mish"));
}

/// For `permute`.
Shape channels_to_front(int rank) {
  Shape axes{rank - 1};
  for (int axis = 0; axis + 1 < rank; ++axis) axes.push_back(axis);
  return axes;
}

/// Of the steps of a sequence.
OnnxValue add_reduction(const OnnxCall& call, const char* op, bool keepdims) {
  const OnnxValue x = call.builder.channels_last(call.input());
  const Shape shape = keepdims ? Shape{1, x.shape.back()} : Shape{x.shape.back()};
  return call.builder.add(op, call.name(), {x}, {}, shape,
                          {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{keepdims}}});
}

}  // namespace

OnnxValue onnx_activation(OnnxBuilder& builder, const std::string& kind, const OnnxValue& x,
                          const std::string& name) {
  const auto simple = [&](const char* op, std::vector<OnnxAttribute> attributes = {}) {
    return same_shape(builder, op, cat(name, "/", kind), x, std::move(attributes));
  };
  const std::int64_t channel_axis = x.channels_first ? 1 : -1;
  if (kind == "linear") return x;
  if (kind == "relu") return simple("Relu");
  if (kind == "leaky_relu") return simple("LeakyRelu", {{"alpha", 0.2f}});
  if (kind == "elu") return simple("Elu", {{"alpha", 1.0f}});
  if (kind == "gelu") return gelu(builder, x, name);
  if (kind == "silu" || kind == "swish") return silu(builder, x, name);
  if (kind == "sigmoid") return simple("Sigmoid");
  if (kind == "tanh") return simple("Tanh");
  if (kind == "softmax") return simple("Softmax", {{"axis", channel_axis}});
  if (kind == "softplus") return simple("Softplus");
  if (kind == "softsign") return simple("Softsign");
  if (kind == "selu") return simple("Selu");  // of Keras' numbers by default
  if (kind == "exponential") return simple("Exp");
  if (kind == "relu6") return relu6(builder, x, name);
  if (kind == "hard_sigmoid") return hard_sigmoid(builder, x, cat(name, "/hard_sigmoid"));
  if (kind == "hard_silu") return hard_silu(builder, x, name);
  if (kind == "mish") return mish(builder, x, name);
  if (kind == "log_softmax") return simple("LogSoftmax", {{"axis", channel_axis}});
  throw Error(cat("[onnx] layer ", name, " has activation ", kind, ", which cannot be exported"));
}

OnnxValue onnx_activation_layer(const OnnxCall& call) {
  return onnx_activation(call.builder, call.config.at("activation").as_string(), call.input(), call.name());
}

OnnxValue onnx_softmax(const OnnxCall& call) {
  return onnx_activation(call.builder, "softmax", call.input(), call.name());
}

OnnxValue onnx_leaky_relu(const OnnxCall& call) {
  const auto slope = static_cast<float>(dynamic_cast<const LeakyReLU&>(call.layer).negative_slope());
  return same_shape(call.builder, "LeakyRelu", call.name(), call.input(), {{"alpha", slope}});
}

OnnxValue onnx_elu(const OnnxCall& call) {
  const auto alpha = static_cast<float>(dynamic_cast<const ELU&>(call.layer).alpha());
  return same_shape(call.builder, "Elu", call.name(), call.input(), {{"alpha", alpha}});
}

OnnxValue onnx_prelu(const OnnxCall& call) {
  const OnnxValue& x = call.input();
  Tensor slope = call.builder.weight(call.layer, "alpha");  // (h, w, c), or 1 at shared axes
  if (x.channels_first) slope = slope.permute(channels_to_front(slope.rank()));
  return call.builder.add("PRelu", call.name(), {x},
                          {call.builder.constant(cat(call.name(), "/alpha"), slope.contiguous())}, x.shape);
}

OnnxValue onnx_relu(const OnnxCall& call) {
  const ReLUOptions& options = dynamic_cast<const ReLU&>(call.layer).options();
  const auto slope = static_cast<float>(options.negative_slope);
  const std::string name = options.max_value ? cat(call.name(), "/unbounded") : call.name();
  OnnxValue y;
  if (slope == 0.0f)
    y = same_shape(call.builder, "Relu", name, call.input());
  else
    y = same_shape(call.builder, "LeakyRelu", name, call.input(), {{"alpha", slope}});
  return options.max_value ? with_constant(call.builder, "Min", call.name(), y, *options.max_value) : y;
}

OnnxValue onnx_dense(const OnnxCall& call) {
  OnnxBuilder& builder = call.builder;
  const OnnxValue x = builder.channels_last(call.input());
  const Tensor kernel = builder.weight(call.layer, "kernel");  // (in, units)
  const std::string weight = builder.constant(cat(call.name(), "/kernel"), kernel);
  std::string bias;
  if (builder.has_weight(call.layer, "bias"))
    bias = builder.constant(cat(call.name(), "/bias"), builder.weight(call.layer, "bias"));
  Shape shape = x.shape;
  shape[-1] = kernel.size(1);

  OnnxValue y;
  if (shape.rank() == 1 && !bias.empty()) {
    y = builder.add("Gemm", call.name(), {x}, {weight, bias}, shape);
  } else {
    y = builder.add("MatMul", bias.empty() ? call.name() : cat(call.name(), "/product"), {x}, {weight},
                    shape);
    if (!bias.empty()) y = builder.add("Add", call.name(), {y}, {bias}, shape);
  }
  return onnx_activation(builder, call.config.at("activation").as_string(), y, call.name());
}

OnnxValue onnx_flatten(const OnnxCall& call) {
  const OnnxValue x = call.builder.channels_last(call.input());
  return call.builder.add("Flatten", call.name(), {x}, {}, {x.shape.count()}, {{"axis", std::int64_t{1}}});
}

OnnxValue onnx_global_average_pooling1d(const OnnxCall& call) {
  return add_reduction(call, "ReduceMean",
                       dynamic_cast<const GlobalAveragePooling1D&>(call.layer).options().keepdims);
}

OnnxValue onnx_global_max_pooling1d(const OnnxCall& call) {
  return add_reduction(call, "ReduceMax",
                       dynamic_cast<const GlobalMaxPooling1D&>(call.layer).options().keepdims);
}

OnnxValue onnx_reshape(const OnnxCall& call) {
  const OnnxValue x = call.builder.channels_last(call.input());
  const Shape shape = dynamic_cast<const Reshape&>(call.layer).shape_for(x.shape);
  return onnx_reshaped(call.builder, x, shape.batch_of(0), shape, call.name());
}

OnnxValue onnx_reshaped(OnnxBuilder& builder, const OnnxValue& value, const Shape& extents,
                        const Shape& shape, const std::string& name) {
  const std::string constant = builder.graph().add_constant(
      cat(name, "/shape"), std::vector<std::int64_t>(extents.begin(), extents.end()));
  return builder.add("Reshape", name, {value}, {constant}, shape);
}

OnnxValue onnx_permute(const OnnxCall& call) {
  const OnnxValue x = call.builder.channels_last(call.input());
  const Shape axes = dynamic_cast<const Permute&>(call.layer).axes();
  Shape shape;
  for (const std::int64_t axis : axes.tail(1)) shape.push_back(x.shape[static_cast<int>(axis) - 1]);
  return call.builder.add("Transpose", call.name(), {x}, {}, shape,
                          {{"perm", std::vector<std::int64_t>(axes.begin(), axes.end())}});
}

OnnxValue onnx_repeat_vector(const OnnxCall& call) {
  const OnnxValue& x = call.input();
  const Shape shape{dynamic_cast<const RepeatVector&>(call.layer).n(), x.shape[0]};
  OnnxGraph& graph = call.builder.graph();
  const std::string axis = graph.add_constant(cat(call.name(), "/axis"), std::vector<std::int64_t>{1});
  const std::string extents =
      graph.add_constant(cat(call.name(), "/shape"), std::vector<std::int64_t>{1, shape[0], 1});
  const OnnxValue step =
      call.builder.add("Unsqueeze", cat(call.name(), "/step"), {x}, {axis}, {1, x.shape[0]});
  return call.builder.add("Expand", call.name(), {step}, {extents}, shape);
}

OnnxValue onnx_identity(const OnnxCall& call) {
  return call.input();
}

}  // namespace ronde::inline v0
