/// TFRecord framing: length (8 bytes), its masked CRC (4), payload, its masked CRC (4); little-endian.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ronde::inline v0 {

std::string encode_record(std::string_view payload);

/// The payload of the record that `bytes` begins with, which is then cut off from them. Nothing when no whole
/// and sound record follows: at the end, or where a writer was interrupted.
std::optional<std::string_view> take_record(std::string_view& bytes);

}  // namespace ronde::inline v0
