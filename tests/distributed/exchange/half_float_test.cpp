#include "exchange/half_float.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/half_codec.h"

namespace ronde::test {
namespace {

// By the definition of binary16: the nearest multiple of the spacing at x, ties to even.
double rounded_to_half(double x) {
  if (std::isnan(x) || std::isinf(x)) return x;
  const int exponent = x == 0.0 ? -14 : std::max(std::ilogb(x), -14);
  const double spacing = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(x / spacing) * spacing;
  return std::abs(rounded) > 65504.0 ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

// All exponents, and mantissas around every kind of tie.
std::vector<float> many_floats() {
  std::vector<float> values{0.0f, -0.0f, std::numeric_limits<float>::infinity(), 65519.99f, 65520.0f, 1e30f};
  for (std::uint32_t exponent = 80; exponent < 160; ++exponent) {
    for (std::uint32_t top = 0; top < 1024; top += 31) {
      for (const std::uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
        const std::uint32_t bits = (exponent << 23) | (top << 13) | low;
        values.push_back(std::bit_cast<float>(bits));
        values.push_back(std::bit_cast<float>(bits | 0x80000000u));
      }
    }
  }
  return values;
}

void expect_correct(const HalfKernels& kernels) {
  const std::vector<float> values = many_floats();
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::uint16_t> halves(values.size());
  std::vector<float> back(values.size());
  kernels.to_half(values.data(), halves.data(), count);
  kernels.from_half(halves.data(), back.data(), count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = rounded_to_half(double{values[i]});
    ASSERT_EQ(double{back[i]}, expected) << values[i];
    ASSERT_EQ(std::signbit(back[i]), std::signbit(values[i])) << values[i];
  }
  // Every half is a float, and comes back as itself.
  std::vector<std::uint16_t> all(0x10000), again(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> floats(all.size());
  kernels.from_half(all.data(), floats.data(), 0x10000);
  kernels.to_half(floats.data(), again.data(), 0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((i & 0x7fffu) > 0x7c00u)
      ASSERT_TRUE(std::isnan(floats[i]) && (again[i] & 0x7fffu) > 0x7c00u) << i;
    else
      ASSERT_EQ(again[i], all[i]);
  }
}

TEST(HalfFloat, PortableKernelsRoundToNearest) {
  expect_correct(portable_half_kernels());
}

TEST(HalfFloat, NativeKernelsRoundToNearest) {
  if (native_half_kernels().to_half == nullptr) GTEST_SKIP() << "this processor has no such instructions";
  expect_correct(native_half_kernels());
}

std::vector<double> round_trip(HalfFormat format, const std::vector<double>& values) {
  const HalfCodec codec(format);
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(codec.bytes(count)) + 1, std::byte{0x5a});
  codec.encode(values.data(), count, bytes.data());
  EXPECT_EQ(bytes.back(), std::byte{0x5a});
  std::vector<double> back(values.size());
  codec.decode(bytes.data(), count, back.data());
  return back;
}

TEST(HalfCodec, BfloatKeepsTheRangeAndEightBits) {
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) values.push_back(std::sin(i) * std::exp2(i % 200 - 100));
  const std::vector<double> back = round_trip(HalfFormat::bf16, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_LE(std::abs(back[i] - values[i]), std::abs(values[i]) * (0x1p-8 + 0x1p-23)) << values[i];
}

// Neither huge nor tiny gradients are lost, whatever binary16's own range is.
TEST(HalfCodec, HalfNeitherOverflowsNorVanishes) {
  for (const double magnitude : {1e-25, 1e-6, 1.0, 1e6, 1e30}) {
    std::vector<double> values;
    for (int i = 0; i < 2500; ++i)
      values.push_back(magnitude * (1.5 + 0.5 * std::sin(i)) * std::exp2(-(i % 20)));
    const std::vector<double> back = round_trip(HalfFormat::fp16, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_LE(std::abs(back[i] - values[i]), std::abs(values[i]) * (0x1p-11 + 0x1p-23)) << values[i];
  }
}

// The scale that would bring these up to 2^14 is more than a float holds.
TEST(HalfCodec, HalfKeepsWhatIsBelowTheNormalNumbersOfAFloat) {
  std::vector<double> values;
  for (int i = 1; i < 50; ++i) values.push_back(i % 2 == 0 ? i * 1e-42 : -i * 1e-42);
  const std::vector<double> back = round_trip(HalfFormat::fp16, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_LE(std::abs(back[i] - values[i]), std::abs(values[i]) * 0x1p-10 + 1.5e-45) << values[i];
}

TEST(HalfCodec, SmallBesideLargeHasAnAbsoluteError) {
  std::vector<double> values{1000.0};
  for (int e = 0; e < 60; ++e) values.push_back(999.0 * std::exp2(-e));
  const std::vector<double> back = round_trip(HalfFormat::fp16, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_LE(std::abs(back[i] - values[i]), std::max(std::abs(values[i]) * 0x1.1p-11, 1000.0 * 0x1p-39));
}

TEST(HalfCodec, NanAndInfinityStay) {
  for (const HalfFormat format : {HalfFormat::bf16, HalfFormat::fp16}) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> back = round_trip(format, {1.0, std::nan(""), 2.0, -infinity});
    EXPECT_EQ(back[0], 1.0);
    EXPECT_TRUE(std::isnan(back[1]));
    EXPECT_EQ(back[3], -infinity);
  }
}

}  // namespace
}  // namespace ronde::test
