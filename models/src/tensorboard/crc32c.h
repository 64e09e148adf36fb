#pragma once

#include <cstdint>
#include <string_view>

namespace ronde::inline v0 {

/// CRC-32C (Castagnoli) of the bytes, masked as TFRecord files have it: rotated right by 15 and moved by a
/// constant, so that a checksum of data which hold checksums stays a good one.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace ronde::inline v0
