/// What is in an ONNX file.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ronde/models/export_onnx.h>

namespace ronde::test {

/// Reads a message of Protocol Buffers.
struct Reader {
  std::string_view rest;
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(rest.at(0));
      rest.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  /// The contents of the fields of this number, all of which have a length.
  std::vector<std::string> fields(std::uint64_t wanted) {
    std::vector<std::string> found;
    while (!rest.empty()) {
      const std::uint64_t key = varint();
      const std::uint64_t value = varint();
      if ((key & 7) != 2) continue;
      if (key >> 3 == wanted) found.emplace_back(rest.substr(0, value));
      rest.remove_prefix(value);
    }
    return found;
  }
};

/// A node (1) of the graph (7) in a file, with its fields 1, 2 and 4.
struct Node {
  std::vector<std::string> inputs;
  std::string output, op;
};

inline std::vector<Node> nodes(std::string_view model) {
  const std::string graph = Reader{model}.fields(7).at(0);
  std::vector<Node> all;
  for (const std::string& node : Reader{graph}.fields(1))
    all.push_back({Reader{node}.fields(1), Reader{node}.fields(2).at(0), Reader{node}.fields(4).at(0)});
  return all;
}

/// The floats of the constant (5 of the graph) of this name (8): its raw bytes (9).
inline std::vector<float> constant(std::string_view model, const std::string& name) {
  const std::string graph = Reader{model}.fields(7).at(0);
  for (const std::string& tensor : Reader{graph}.fields(5)) {
    if (Reader{tensor}.fields(8).at(0) != name) continue;
    const std::string bytes = Reader{tensor}.fields(9).at(0);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  return {};
}

/// The operators in a file, in order.
inline std::vector<std::string> operators(std::string_view model) {
  std::vector<std::string> names;
  for (const Node& node : nodes(model)) names.push_back(node.op);
  return names;
}

inline std::vector<std::string> operators_of(std::unique_ptr<Module> net, const Shape& input) {
  net->build(input);
  return operators(encode_onnx(*net));
}

}  // namespace ronde::test
