/// HalfCodec: f32 or f64 values <-> 16 bits each, for the wire.
///
/// bf16 is the upper half of a float. fp16 goes in blocks of 1,024 values: a float, the power of two that the
/// block was multiplied with so that its largest value lies in [2^14, 2^15), then the halves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exchange/half_float.h"

namespace ronde::inline v0 {

enum class HalfFormat { bf16, fp16 };

class HalfCodec {
 public:
  explicit HalfCodec(HalfFormat format) : format_(format), kernels_(half_kernels()) {}

  /// Of `count` values.
  std::int64_t bytes(std::int64_t count) const;
  /// T is float or double.
  template <class T>
  void encode(const T* values, std::int64_t count, std::byte* out) const;
  template <class T>
  void decode(const std::byte* in, std::int64_t count, T* values) const;
  /// sums += what `in` holds
  void add(const std::byte* in, std::int64_t count, float* sums) const;

 private:
  static constexpr std::int64_t kBlock = 1024;
  void encode_block(const float* values, std::int64_t count, std::byte* out) const;
  void decode_block(const std::byte* in, std::int64_t count, float* values) const;
  template <class F>
  void for_blocks(std::int64_t count, F&& f) const;

  HalfFormat format_;
  HalfKernels kernels_;
};

}  // namespace ronde::inline v0
