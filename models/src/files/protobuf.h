/// Writes Protocol Buffers by hand: a message is a sequence of fields, each a number, a kind and a value.
///
///     ProtobufWriter node;
///     node.text(4, "Relu");
///     graph.message(1, node);
///
/// Only what ONNX and TensorBoard need: varints, floats, doubles, and fields with a length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::inline v0 {

class ProtobufWriter {
 public:
  void integer(int field, std::int64_t value);
  void real(int field, float value);
  void wide_real(int field, double value);
  /// A list of doubles, packed.
  void wide_reals(int field, const std::vector<double>& values);
  /// Text, or bytes.
  void text(int field, std::string_view value);
  void message(int field, const ProtobufWriter& message) { text(field, message.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  void key(int field, unsigned kind);

  std::string bytes_;
};

}  // namespace ronde::inline v0
