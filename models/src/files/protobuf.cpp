#include "files/protobuf.h"

#include <bit>

namespace ronde::inline v0 {

namespace {

constexpr unsigned kVarint = 0, kEightBytes = 1, kDelimited = 2, kFourBytes = 5;

std::string little_endian(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(bits >> shift);
  return bytes;
}

}  // namespace

/// Seven bits a byte, lowest first; the high bit says that more follow.
void ProtobufWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtobufWriter::key(int field, unsigned kind) {
  varint(static_cast<std::uint64_t>(field) << 3 | kind);
}

void ProtobufWriter::integer(int field, std::int64_t value) {
  key(field, kVarint);
  varint(static_cast<std::uint64_t>(value));
}

void ProtobufWriter::real(int field, float value) {
  key(field, kFourBytes);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift);
}

void ProtobufWriter::wide_real(int field, double value) {
  key(field, kEightBytes);
  bytes_ += little_endian(value);
}

void ProtobufWriter::wide_reals(int field, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) packed += little_endian(value);
  text(field, packed);
}

void ProtobufWriter::text(int field, std::string_view value) {
  key(field, kDelimited);
  varint(value.size());
  bytes_ += value;
}

}  // namespace ronde::inline v0
