#include <ronde/core/dtype.h>

#include <limits>

#include "core/testing.h"

namespace ronde {
namespace {

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(size_of(DType::i32), 4u);
  EXPECT_EQ(size_of(DType::i64), 8u);
  EXPECT_EQ(to_string(DType::bf16), "bf16");
  EXPECT_EQ(to_string(DType::i64), "i64");
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_floating(DType::i32));
}

TEST(DType, VisitGivesTheMatchingType) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::u8, DType::i32, DType::i64})
    EXPECT_EQ(visit_dtype(dtype, []<class T>(T) { return dtype_of<T>; }), dtype);
  EXPECT_EQ(visit_real(DType::f64, "op", []<class T>(T) { return dtype_of<T>; }), DType::f64);
  test::expect_error([] { visit_real(DType::u8, "op", [](auto) {}); }, "[op] expects f32 or f64, got u8");
}

TEST(BFloat16, RoundsToNearestEven) {
  const auto rounded = [](float x) { return static_cast<float>(bfloat16(x)); };
  EXPECT_EQ(rounded(1.0f), 1.0f);
  EXPECT_EQ(rounded(-2.5f), -2.5f);
  // Seven bits of fraction: neighbours of 1 are 2^-7 apart; halfway goes to the even one.
  EXPECT_EQ(rounded(1.0f + 0x1p-8f), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0x1p-7f + 0x1p-8f), 1.0f + 0x1p-6f);
  EXPECT_EQ(rounded(1.0f + 0x1p-8f + 0x1p-20f), 1.0f + 0x1p-7f);
}

TEST(BFloat16, KeepsWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(bfloat16(kInfinity)), kInfinity);
  EXPECT_EQ(static_cast<float>(bfloat16(-kInfinity)), -kInfinity);
  EXPECT_EQ(static_cast<float>(bfloat16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(std::nanf("")))));
  // The payload of this NaN is below the bits that are kept.
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace ronde
