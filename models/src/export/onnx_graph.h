/// An ONNX graph as nodes and arrays, and its bytes. Knows nothing of layers.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<std::string>> value;
};

struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
  std::vector<OnnxAttribute> attributes;
  int unused_outputs = 0;  ///< in front of `output`
};

/// An input or an output of the graph: (N, shape...) floats.
struct OnnxPort {
  std::string name;
  Shape shape;
};

class OnnxGraph {
 public:
  /// No array will get this name.
  void reserve(const std::string& name) { names_.insert(name); }
  /// Appends a node; its only output in use is called `name`, with a number behind it when that is taken.
  /// Returns the output's name.
  std::string add_node(const std::string& op, const std::string& name, std::vector<std::string> inputs,
                       std::vector<OnnxAttribute> attributes = {}, int unused_outputs = 0);
  /// Adds a constant, as f32, and returns its name.
  std::string add_constant(const std::string& name, const Tensor& values);
  std::string add_constant(const std::string& name, const std::vector<std::int64_t>& values);
  /// Calls an array otherwise, everywhere.
  void rename(const std::string& from, const std::string& to);
  /// A ModelProto of opset 13. Error when it would be larger than the 2 GiB a message may have.
  std::string encode(const std::string& name, const std::vector<OnnxPort>& inputs,
                     const std::vector<OnnxPort>& outputs) const;

 private:
  struct Constant {
    std::string name;
    std::vector<std::int64_t> extents;
    int type;  // ONNX's number of it
    std::string bytes;
  };
  std::string free_name(const std::string& wanted);

  std::set<std::string> names_;
  std::vector<OnnxNode> nodes_;
  std::vector<Constant> constants_;
};

}  // namespace ronde::inline v0
