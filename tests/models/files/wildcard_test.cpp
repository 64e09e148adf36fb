#include "files/wildcard.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <ronde/core/error.h>

namespace ronde {
namespace {

/// With stars, to be read.
bool matches(std::string_view name, std::string pattern, bool (*may_have)(char) = is_any) {
  std::replace(pattern.begin(), pattern.end(), '*', kWildcard);
  return matches_wildcards(name, pattern, may_have);
}

TEST(Wildcard, StandsForTheFieldsOfAPattern) {
  EXPECT_EQ(wildcards_of("a*/{epoch:02d}-{{x}}.h5"), cat("a*/", kWildcard, "-{x}.h5"));
  EXPECT_THROW(wildcards_of("{epoch"), UsageError);
  EXPECT_THROW(wildcards_of("epoch}"), UsageError);
  EXPECT_TRUE(matches("07-0.5.h5", "*-*.h5"));
  EXPECT_TRUE(matches("a-b-.h5-c.h5", "*-*.h5"));
  EXPECT_TRUE(matches("aab", "*b"));
  EXPECT_FALSE(matches("", "*"));
  EXPECT_FALSE(matches("-1.h5", "*-*.h5"));
  EXPECT_FALSE(matches("07.h5", "*-*.h5"));
  EXPECT_FALSE(matches("a.h5.tmp.1", "*.h5"));
  EXPECT_FALSE(matches("ab", "a"));
}

TEST(Wildcard, MayStandForSomeCharactersOnly) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  EXPECT_TRUE(matches("12a34", "*a*", is_digit));
  EXPECT_TRUE(matches("1223", "*2*", is_digit));
  EXPECT_TRUE(matches("1a2a3", "1a*a*", is_digit));
  EXPECT_FALSE(matches("12a34b", "*a*", is_digit));
  EXPECT_FALSE(matches("xa3", "*a*", is_digit));
  EXPECT_FALSE(matches("1ba3", "*a*", is_digit));
}

}  // namespace
}  // namespace ronde
