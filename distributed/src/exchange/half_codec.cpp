#include "exchange/half_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {
namespace {

constexpr int kTopExponent = 14;  // of the largest value of a block, scaled

// The power of two that brings `largest` into [2^14, 2^15), as far as a float can hold it and its inverse.
float scale_for(float largest) {
  if (!(largest > 0.0f) || std::isinf(largest)) return 1.0f;
  return std::ldexp(1.0f, std::clamp(kTopExponent - std::ilogb(largest), -126, 126));
}

float largest_of(const float* values, std::int64_t count) {
  float largest = 0.0f;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

}  // namespace

std::int64_t HalfCodec::bytes(std::int64_t count) const {
  const std::int64_t scales = format_ == HalfFormat::fp16 ? ceil_divide(count, kBlock) : 0;
  return 2 * count + scales * static_cast<std::int64_t>(sizeof(float));
}

template <class F>
void HalfCodec::for_blocks(std::int64_t count, F&& f) const {
  std::int64_t place = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    f(begin, n, place);
    place += bytes(n);
  }
}

void HalfCodec::encode_block(const float* values, std::int64_t count, std::byte* out) const {
  std::array<std::uint16_t, kBlock> halves;
  if (format_ == HalfFormat::bf16) {
    to_bfloat16(values, halves.data(), count);
  } else {
    const float scale = scale_for(largest_of(values, count));
    std::array<float, kBlock> scaled;
    for (std::int64_t i = 0; i < count; ++i) scaled[static_cast<std::size_t>(i)] = values[i] * scale;
    kernels_.to_half(scaled.data(), halves.data(), count);
    std::memcpy(out, &scale, sizeof scale);
    out += sizeof scale;
  }
  std::memcpy(out, halves.data(), static_cast<std::size_t>(2 * count));
}

void HalfCodec::decode_block(const std::byte* in, std::int64_t count, float* values) const {
  std::array<std::uint16_t, kBlock> halves;
  float scale = 1.0f;
  if (format_ == HalfFormat::fp16) {
    std::memcpy(&scale, in, sizeof scale);
    in += sizeof scale;
  }
  std::memcpy(halves.data(), in, static_cast<std::size_t>(2 * count));
  if (format_ == HalfFormat::bf16) return from_bfloat16(halves.data(), values, count);
  kernels_.from_half(halves.data(), values, count);
  const float inverse = 1.0f / scale;  // exact
  for (std::int64_t i = 0; i < count; ++i) values[i] *= inverse;
}

template <class T>
void HalfCodec::encode(const T* values, std::int64_t count, std::byte* out) const {
  std::array<float, kBlock> block;
  for_blocks(count, [&](std::int64_t begin, std::int64_t n, std::int64_t place) {
    std::transform(values + begin, values + begin + n, block.begin(),
                   [](T value) { return static_cast<float>(value); });
    encode_block(block.data(), n, out + place);
  });
}

template <class T>
void HalfCodec::decode(const std::byte* in, std::int64_t count, T* values) const {
  std::array<float, kBlock> block;
  for_blocks(count, [&](std::int64_t begin, std::int64_t n, std::int64_t place) {
    decode_block(in + place, n, block.data());
    std::copy(block.begin(), block.begin() + n, values + begin);
  });
}

void HalfCodec::add(const std::byte* in, std::int64_t count, float* sums) const {
  std::array<float, kBlock> block;
  for_blocks(count, [&](std::int64_t begin, std::int64_t n, std::int64_t place) {
    decode_block(in + place, n, block.data());
    for (std::int64_t i = 0; i < n; ++i) sums[begin + i] += block[static_cast<std::size_t>(i)];
  });
}

template void HalfCodec::encode(const float*, std::int64_t, std::byte*) const;
template void HalfCodec::encode(const double*, std::int64_t, std::byte*) const;
template void HalfCodec::decode(const std::byte*, std::int64_t, float*) const;
template void HalfCodec::decode(const std::byte*, std::int64_t, double*) const;

}  // namespace ronde::inline v0
