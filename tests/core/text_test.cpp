#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <system_error>

#include <ronde/core/counted.h>
#include <ronde/core/nearest_word.h>
#include <ronde/core/text.h>
#include <ronde/core/utf8.h>

#include "core/testing.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

TEST(Text, JoinsPiecesOfManyTypes) {
  const std::string owned = "owned";
  EXPECT_EQ(cat("a", 'b', std::string_view("c"), owned, 3, std::int64_t{-4}, std::uint8_t{5}, true),
            "abcowned3-45true");
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat("", std::string()), "");
}

TEST(Text, SplitsAndKeepsWhatIsEmpty) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(joined({"a", "b", "c"}, "|"), "a|b|c");
  EXPECT_EQ(joined({"a", "b"}), "a, b");
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(split("a\n", '\n'), (Parts{"a", ""}));
  EXPECT_EQ(split("", ','), Parts{""});
}

TEST(Text, LowerCaseIsOfLettersFromAToZAlone) {
  EXPECT_EQ(lower_case("AdamW_2 @[Zz`{\xc3\x84"), "adamw_2 @[zz`{\xc3\x84");
}

TEST(Text, HexDigitsOfBytes) {
  EXPECT_EQ(hex_digits(std::string_view("\0\x1f\xa0", 3)), "001fa0");
  EXPECT_EQ(hex_digits(""), "");
}

TEST(Text, NumbersKeepNineDigits) {
  EXPECT_EQ(cat(0.1), "0.1");
  EXPECT_EQ(cat(1.5f, " ", 1e-7), "1.5 1e-07");
  EXPECT_EQ(cat(123456789.0), "123456789");
}

TEST(Text, NoNumberHasASign) {
  EXPECT_EQ(formatted("%.4f", -std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(cat(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(formatted("%.1f", -std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Text, AnythingWithToStringIsAPiece) {
  EXPECT_EQ(cat(Shape{2, 3}, " ", DType::bf16, " ", Device{DeviceType::cuda, 1}), "(2, 3) bf16 cuda:1");
}

TEST(Text, CountsThings) {
  EXPECT_EQ(cat(counted(1, "rank"), ", ", counted(0, "rank"), ", ", counted(2, "rank")),
            "1 rank, 0 ranks, 2 ranks");
  EXPECT_EQ(cat(counted(1, "class", "classes"), ", ", counted(10, "class", "classes")),
            "1 class, 10 classes");
  EXPECT_EQ(cat(counted(std::size_t{1'234'567}, "byte")), "1,234,567 bytes");
}

TEST(Text, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-1'000), "-1,000");
  EXPECT_EQ(grouped(std::uint64_t{18'446'744'073'709'551'615u}), "18,446,744,073,709,551,615");
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

// A host may have chosen any locale: where files are named, and people read numbers, a point is a point.
TEST(Error, WhatTheSystemSaysIsExplained) {
  EXPECT_EQ(explanation(std::bad_alloc()),
            "not enough memory: smaller batches, or fewer ranks on this machine, need less");
  const auto threads = std::make_error_code(std::errc::resource_unavailable_try_again);
  EXPECT_EQ(
      explanation(std::system_error(threads)),
      "cannot start a thread: Resource temporarily unavailable: raise the limit of processes (ulimit -u, "
      "a container's pids), or give RONDE_THREADS=1");
  EXPECT_EQ(explanation(std::system_error(std::make_error_code(std::errc::io_error))), "Input/output error");
  EXPECT_EQ(explanation(UsageError("an option")), "an option");
}

TEST(Text, NumbersHaveAPointInEveryLocale) {
  const ronde::test::TempDir dir;
  const std::string made = cat("localedef -c -i de_DE -f UTF-8 ", dir.path(), "/de_DE.UTF-8 2>/dev/null");
  if (std::system(made.c_str()) != 0) GTEST_SKIP() << "no sources of locales here";
  setenv("LOCPATH", dir.path().c_str(), 1);
  if (!std::setlocale(LC_ALL, "de_DE.UTF-8")) GTEST_SKIP() << "the locale cannot be used";
  std::array<char, 8> of_the_locale{};
  std::snprintf(of_the_locale.data(), of_the_locale.size(), "%.1f", 1.5);
  const std::string with_cat = cat(0.25), with_format = formatted("%07.2f", 2.5);
  std::array<char, 8> afterwards{};
  std::snprintf(afterwards.data(), afterwards.size(), "%.1f", 1.5);
  std::setlocale(LC_ALL, "C");
  EXPECT_STREQ(of_the_locale.data(), "1,5");
  EXPECT_EQ(with_cat, "0.25");
  EXPECT_EQ(with_format, "0002.50");
  EXPECT_STREQ(afterwards.data(), "1,5") << "the host's locale is left as it was";
}

TEST(Utf8, TellsCharactersFromOtherBytes) {
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_EQ(utf8_length("ab"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xbcx"), 2u);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3u);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4u);
  for (const char* wrong : {"\x80", "\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                            "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"})
    EXPECT_EQ(utf8_length(wrong), 0u);
}

TEST(NearestWord, IsWhatWasMeant) {
  const std::vector<std::string> words{"evaluate", "export", "inspect"};
  EXPECT_EQ(nearest_word("evalute", words), "evaluate");
  EXPECT_EQ(nearest_word("exprot", words), "export");
  EXPECT_EQ(nearest_word("x", words), "");
  EXPECT_EQ(nearest_word("train", words), "");
}

}  // namespace
}  // namespace ronde
