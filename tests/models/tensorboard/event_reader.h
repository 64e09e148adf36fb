/// Reads TensorBoard's event files on its own: shares no code with what writes them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ronde/models/file_io.h>

namespace ronde::test {

/// CRC-32C, one bit at a time.
inline std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78u : crc >> 1;
  }
  return ~crc;
}

inline std::uint32_t slow_masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = slow_crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <class T>
T read_number(std::string_view bytes) {
  T value;
  if (bytes.size() < sizeof(T)) throw std::runtime_error("bytes are missing");
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// The payloads of a TFRecord file; throws where anything is wrong.
inline std::vector<std::string> read_records(std::string_view bytes) {
  std::vector<std::string> payloads;
  while (!bytes.empty()) {
    const auto length = read_number<std::uint64_t>(bytes);
    if (bytes.size() < length + 16) throw std::runtime_error("a record is cut short");
    const std::string_view payload = bytes.substr(12, length);
    if (read_number<std::uint32_t>(bytes.substr(8)) != slow_masked_crc32c(bytes.substr(0, 8)) ||
        read_number<std::uint32_t>(bytes.substr(12 + length)) != slow_masked_crc32c(payload))
      throw std::runtime_error("a checksum is wrong");
    payloads.emplace_back(payload);
    bytes.remove_prefix(length + 16);
  }
  return payloads;
}

/// A Protocol Buffers message: the raw values of each field number. Varints are 8 bytes here.
using Message = std::multimap<int, std::string>;

inline Message read_message(std::string_view bytes) {
  Message message;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (bytes.empty()) throw std::runtime_error("a varint is cut short");
      const auto byte = static_cast<unsigned char>(bytes[0]);
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  };
  while (!bytes.empty()) {
    const std::uint64_t key = varint();
    const std::uint64_t number = (key & 7) == 0 ? varint() : 0;
    const std::uint64_t size = (key & 7) == 0 ? 8 : (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
    std::string value(reinterpret_cast<const char*>(&number), sizeof(number));
    if ((key & 7) != 0) {
      value = bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
    message.emplace(static_cast<int>(key >> 3), value);
  }
  return message;
}

inline std::string field(const Message& message, int number) {
  const auto found = message.find(number);
  return found == message.end() ? "" : found->second;
}

struct Event {
  double wall_time = 0.0;
  std::int64_t step = 0;
  std::string file_version, tag, plugin;
  bool restart = false;
  std::optional<double> scalar;
  Message histogram, image;
  std::string text;  ///< of a tensor of one string
};

inline std::int64_t integer_field(const Message& message, int number) {
  const std::string value = field(message, number);
  return value.empty() ? 0 : read_number<std::int64_t>(value);
}

inline Event read_event(std::string_view payload) {
  const Message message = read_message(payload);
  Event event;
  event.wall_time = read_number<double>(field(message, 1));
  event.step = integer_field(message, 2);
  event.file_version = field(message, 3);
  event.restart = integer_field(read_message(field(message, 7)), 1) == 1;
  const Message value = read_message(field(read_message(field(message, 5)), 1));
  event.tag = field(value, 1);
  if (value.contains(2)) event.scalar = read_number<float>(field(value, 2));
  event.image = read_message(field(value, 4));
  event.histogram = read_message(field(value, 5));
  event.text = field(read_message(field(value, 8)), 8);
  event.plugin = field(read_message(field(read_message(field(value, 9)), 1)), 1);
  return event;
}

/// All events of a directory's files, in the order in which TensorBoard reads them.
inline std::vector<Event> read_events(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().filename().string().starts_with("events.out.tfevents."))
      files.emplace(entry.path().filename(), read_file(entry.path()));
  std::vector<Event> events;
  for (const auto& [name, bytes] : files)
    for (const std::string& payload : read_records(bytes)) events.push_back(read_event(payload));
  return events;
}

}  // namespace ronde::test
