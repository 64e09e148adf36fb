#include "tensorboard/record.h"

#include "tensorboard/crc32c.h"

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kHeader = 12, kFooter = 4;

void append(std::string& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
}

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::string encode_record(std::string_view payload) {
  std::string record;
  record.reserve(kHeader + payload.size() + kFooter);
  append(record, payload.size(), 8);
  append(record, masked_crc32c(record), 4);
  record += payload;
  append(record, masked_crc32c(payload), 4);
  return record;
}

std::optional<std::string_view> take_record(std::string_view& bytes) {
  if (bytes.size() < kHeader + kFooter) return {};
  const std::uint64_t length = number(bytes.substr(0, 8));
  if (length > bytes.size() - kHeader - kFooter) return {};
  const std::string_view payload = bytes.substr(kHeader, length);
  if (number(bytes.substr(8, 4)) != masked_crc32c(bytes.substr(0, 8))) return {};
  if (number(bytes.substr(kHeader + length, kFooter)) != masked_crc32c(payload)) return {};
  bytes.remove_prefix(kHeader + length + kFooter);
  return payload;
}

}  // namespace ronde::inline v0
