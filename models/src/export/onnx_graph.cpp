#include "export/onnx_graph.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "files/protobuf.h"

namespace ronde::inline v0 {

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

constexpr std::int64_t kIrVersion = 7;  // the one that came with opset 13
constexpr std::int64_t kOpset = 13;
constexpr int kFloat = 1, kInt64 = 7;  // TensorProto.DataType
constexpr std::size_t kMaxBytes = (std::size_t{1} << 31) - 1;

// Field numbers are those of onnx.proto. AttributeProto carries its kind as a number, too.
ProtobufWriter encode(const OnnxAttribute& attribute) {
  ProtobufWriter out;
  out.text(1, attribute.name);
  std::visit(
      [&out](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
          out.integer(3, value);
          out.integer(20, 2);
        } else if constexpr (std::is_same_v<T, float>) {
          out.real(2, value);
          out.integer(20, 1);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out.text(4, value);
          out.integer(20, 3);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          for (const std::int64_t item : value) out.integer(8, item);
          out.integer(20, 7);
        } else {
          for (const std::string& item : value) out.text(9, item);
          out.integer(20, 8);
        }
      },
      attribute.value);
  return out;
}

ProtobufWriter encode(const OnnxNode& node) {
  ProtobufWriter out;
  for (const std::string& input : node.inputs) out.text(1, input);
  for (int i = 0; i < node.unused_outputs; ++i) out.text(2, "");
  out.text(2, node.output);
  out.text(3, node.output);  // the node's own name
  out.text(4, node.op);
  for (const OnnxAttribute& attribute : node.attributes) out.message(5, encode(attribute));
  return out;
}

ProtobufWriter encode(const OnnxPort& port) {
  ProtobufWriter shape, batch;
  batch.text(2, "N");
  shape.message(1, batch);
  for (const std::int64_t extent : port.shape) {
    ProtobufWriter dimension;
    dimension.integer(1, extent);
    shape.message(1, dimension);
  }
  ProtobufWriter tensor, type, out;
  tensor.integer(1, kFloat);
  tensor.message(2, shape);
  type.message(1, tensor);
  out.text(1, port.name);
  out.message(2, type);
  return out;
}

}  // namespace

std::string OnnxGraph::free_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = cat(wanted, "_", i);
  return name;
}

std::string OnnxGraph::add_node(const std::string& op, const std::string& name,
                                std::vector<std::string> inputs, std::vector<OnnxAttribute> attributes,
                                int unused_outputs) {
  nodes_.push_back({op, std::move(inputs), free_name(name), std::move(attributes), unused_outputs});
  return nodes_.back().output;
}

std::string OnnxGraph::add_constant(const std::string& name, const Tensor& values) {
  const Tensor floats = values.to(DType::f32).contiguous();
  constants_.push_back({free_name(name),
                        {values.shape().begin(), values.shape().end()},
                        kFloat,
                        {static_cast<const char*>(floats.raw()), floats.byte_size()}});
  return constants_.back().name;
}

std::string OnnxGraph::add_constant(const std::string& name, const std::vector<std::int64_t>& values) {
  constants_.push_back(
      {free_name(name),
       {static_cast<std::int64_t>(values.size())},
       kInt64,
       {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)}});
  return constants_.back().name;
}

void OnnxGraph::rename(const std::string& from, const std::string& to) {
  for (OnnxNode& node : nodes_) {
    if (node.output == from) node.output = to;
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  }
}

std::string OnnxGraph::encode(const std::string& name, const std::vector<OnnxPort>& inputs,
                              const std::vector<OnnxPort>& outputs) const {
  ProtobufWriter graph;
  for (const OnnxNode& node : nodes_) graph.message(1, v0::encode(node));
  graph.text(2, name);
  for (const Constant& constant : constants_) {
    ProtobufWriter tensor;
    for (const std::int64_t extent : constant.extents) tensor.integer(1, extent);
    tensor.integer(2, constant.type);
    tensor.text(8, constant.name);
    tensor.text(9, constant.bytes);
    graph.message(5, tensor);
  }
  for (const OnnxPort& port : inputs) graph.message(11, v0::encode(port));
  for (const OnnxPort& port : outputs) graph.message(12, v0::encode(port));

  ProtobufWriter opset, model;
  opset.text(1, "");  // ONNX's own operators
  opset.integer(2, kOpset);
  model.integer(1, kIrVersion);
  model.text(2, "ronde");
  model.message(7, graph);
  model.message(8, opset);
  require(model.bytes().size() <= kMaxBytes, "[onnx] the net takes ", model.bytes().size(),
          " bytes; an ONNX file has at most 2 GiB");
  return model.bytes();
}

}  // namespace ronde::inline v0
