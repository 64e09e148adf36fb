/// What the writer and the reader of safetensors share.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <ronde/core/dtype.h>

namespace ronde::inline v0 {

inline constexpr const char* kSafetensorsMetadata = "__metadata__";
inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;  // as in the reference implementation

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
