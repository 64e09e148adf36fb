/// DType alone, for kernels and others that have to compile fast; dtype.h has what goes with it.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

enum class DType : std::uint8_t { f32, f64, bf16, u8, i32, i64 };

}  // namespace ronde::inline v0
