#include <ronde/core/text.h>

#include "core/testing.h"

namespace ronde {
namespace {

TEST(Text, JoinsPiecesOfManyTypes) {
  const std::string owned = "owned";
  EXPECT_EQ(cat("a", 'b', std::string_view("c"), owned, 3, std::int64_t{-4}, std::uint8_t{5}, true),
            "abcowned3-45true");
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat("", std::string()), "");
}

TEST(Text, NumbersKeepNineDigits) {
  EXPECT_EQ(cat(0.1), "0.1");
  EXPECT_EQ(cat(1.5f, " ", 1e-7), "1.5 1e-07");
  EXPECT_EQ(cat(123456789.0), "123456789");
}

TEST(Text, AnythingWithToStringIsAPiece) {
  EXPECT_EQ(cat(Shape{2, 3}, " ", DType::bf16, " ", Device{DeviceType::cuda, 1}), "(2, 3) bf16 cuda:1");
}

TEST(Error, RequireCarriesTheValuesAndTheStatus) {
  EXPECT_NO_THROW(require(true, "not thrown"));
  test::expect_error([] { require(false, "[conv2d] expects ", 3, " channels, got ", 1); },
                     "[conv2d] expects 3 channels, got 1");
  const auto status_of = [](auto&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.status();
    }
    return ExitStatus::ok;
  };
  EXPECT_EQ(status_of([] { require(false, "x"); }), ExitStatus::failure);
  EXPECT_EQ(status_of([] { require<UsageError>(false, "x"); }), ExitStatus::usage);
  EXPECT_EQ(status_of([] { require<InputError>(false, "x"); }), ExitStatus::bad_input);
  EXPECT_EQ(status_of([] { require<IoError>(false, "x"); }), ExitStatus::io);
}

}  // namespace
}  // namespace ronde
