/// Element types of a tensor.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <ronde/core/dtype_code.h>
#include <ronde/core/error.h>

namespace ronde::inline v0 {

/// A brain float: the upper half of a float. Storage only; arithmetic happens in float.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  /// Rounds to nearest, ties to even; a NaN stays a NaN.
  explicit bfloat16(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(is_nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

/// The value of an IEEE half, of which there are no tensors. A NaN keeps its payload.
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  // As a float with an exponent that is 112 too small; the product puts it right, also for subnormals.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

/// Size of one element in bytes.
RONDE_API std::size_t size_of(DType dtype);
/// "f32", "bf16", ...
RONDE_API std::string to_string(DType dtype);
constexpr bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16;
}

template <class T>
struct dtype_of_t;
template <>
struct dtype_of_t<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of_t<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of_t<bfloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of_t<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_of_t<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of_t<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <class T>
inline constexpr DType dtype_of = dtype_of_t<T>::value;

/// Calls `f(T{})` with the C++ type of any `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::bf16:
      return f(bfloat16{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::i64:
      break;
  }
  return f(std::int64_t{});
}

/// Calls `f(float{})` or `f(double{})`; another dtype is an error that names `op`.
template <class F>
decltype(auto) visit_real(DType dtype, const char* op, F&& f) {
  require(dtype == DType::f32 || dtype == DType::f64, "[", op, "] expects f32 or f64, got ", dtype);
  if (dtype == DType::f32) return f(float{});
  return f(double{});
}

}  // namespace ronde::inline v0
