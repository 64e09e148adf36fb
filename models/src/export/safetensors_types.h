/// What the writer and the reader of safetensors share.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <ronde/core/dtype.h>

namespace ronde::inline v0 {

inline constexpr const char* kSafetensorsMetadata = "__metadata__";
inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;  // as in the reference implementation

/// The format has no checksum, so Ronde's files have one among their metadata, "ronde_sha256":"ronde:...":
/// the SHA-256 of all bytes, with zeros in its own place. Key and value can both be known again, so that
/// damage to one of them does not make the file one without a hash.
inline constexpr const char* kSafetensorsHash = "ronde_sha256";
inline constexpr std::string_view kSafetensorsHashMark = "ronde:";
inline constexpr std::string_view kSafetensorsNoHash =
    "0000000000000000000000000000000000000000000000000000000000000000";
/// Where the digits lie in a file; nothing when there is no hash. InputError when there is a part of one.
std::optional<std::size_t> find_safetensors_hash(std::string_view bytes);

struct SafetensorsType {
  std::string_view name;
  DType dtype;
};
inline constexpr std::array<SafetensorsType, 6> kSafetensorsTypes{{{"F32", DType::f32},
                                                                   {"F64", DType::f64},
                                                                   {"BF16", DType::bf16},
                                                                   {"U8", DType::u8},
                                                                   {"I32", DType::i32},
                                                                   {"I64", DType::i64}}};

inline std::string_view safetensors_name(DType dtype) {
  for (const SafetensorsType& type : kSafetensorsTypes)
    if (type.dtype == dtype) return type.name;
  return "";
}

}  // namespace ronde::inline v0
