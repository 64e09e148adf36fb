#include "json/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "files/nesting.h"

namespace ronde {
namespace {

TEST(Json, KeepsOrderAndTypes) {
  const ConfigValue value = ConfigDict{{"z", 1},
                                       {"a", ConfigList{ConfigValue(), true, 0.5, "text"}},
                                       {"d", ConfigDict{{"inner", std::int64_t{1} << 60}}}};
  const std::string text = R"({"z":1,"a":[null,true,0.5,"text"],"d":{"inner":1152921504606846976}})";
  EXPECT_EQ(to_json(value), text);
  EXPECT_EQ(to_json(from_json(text)), text);
}

TEST(Json, WholeDoubleStaysADouble) {
  EXPECT_EQ(to_json(ConfigValue(1.0)), "1.0");
  EXPECT_TRUE(std::holds_alternative<double>(from_json("1.0").storage()));
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(from_json("1").storage()));
  EXPECT_EQ(from_json(to_json(ConfigValue(0.1))).as_double(), 0.1);
  EXPECT_EQ(from_json(to_json(ConfigValue(1e-07))).as_double(), 1e-07);
}

TEST(Json, WhatJsonCannotHoldIsAnError) {
  EXPECT_THROW(to_json(ConfigValue(std::numeric_limits<double>::infinity())), Error);
}

// Names of files are bytes, and a checkpoint that is written must be found again by its name.
TEST(Json, TextOfAnyBytesComesBack) {
  const std::vector<std::string> texts{"",
                                       "plain",
                                       "\xff",
                                       "a\x80z\xc3",
                                       "\xe2\x82",
                                       "gr\xc3\xbc\xc3\x9f",
                                       "\xf4\x8f\xbe\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "\xf4\x8f\xbd\xbf",
                                       "\xed\xa0\x80"};
  for (const std::string& text : texts) {
    const ConfigValue value = ConfigDict{{text, ConfigList{text}}};
    const std::string json = to_json(value);
    EXPECT_EQ(to_json(from_json(json)), json);
    EXPECT_EQ(from_json(json).as_dict()[0].first, text);
    EXPECT_EQ(from_json(json).at(text).as_list()[0].as_string(), text);
  }
  EXPECT_EQ(to_json(ConfigValue("gr\xc3\xbc\xc3\x9f")), "\"gr\xc3\xbc\xc3\x9f\"") << "characters stay";
  for (int byte = 1; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(from_json(to_json(ConfigValue(text))).as_string(), text) << byte;
  }
}

TEST(Json, DamagedTextIsAnInputError) {
  for (const char* text : {"", "{", "[1,", "{\"a\":}", "nul", "\"\xff\"", "{} {}"})
    EXPECT_THROW(from_json(text), InputError) << text;
  EXPECT_THROW(from_json(std::string(100000, '[')), InputError);
}

TEST(Json, HoldsWhatAFileMayHold) {
  EXPECT_EQ(from_json("[]").as_list().size(), 0u);
  EXPECT_EQ(from_json("{}").as_dict().size(), 0u);
  EXPECT_EQ(to_json(from_json(R"([[],{"a":{"b":[1,{}]}},null,false,-2,"x"])")),
            R"([[],{"a":{"b":[1,{}]}},null,false,-2,"x"])");
  EXPECT_THROW(from_json(R"({"a":1,"b":2,"a":3})"), InputError);
  EXPECT_NO_THROW(from_json(R"({"a":{"b":1},"b":{"b":1}})"));
}

TEST(Json, IsWrittenAsDeepAsItIsRead) {
  ConfigValue deep = ConfigList();
  for (std::size_t depth = 1; depth < kMaxJsonDepth; ++depth) deep = ConfigList{deep};
  const std::string text = to_json(deep);
  EXPECT_EQ(text, std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']'));
  EXPECT_EQ(to_json(from_json(text)), text);
  EXPECT_NO_THROW(to_json(ConfigDict{{"a", 1}}));
  EXPECT_THROW(to_json(ConfigList{deep}), UsageError);
  EXPECT_THROW(from_json("[" + text + "]"), InputError);
}

// What is hostile ends soon: neither the square of its keys in time nor copies of it in memory.
TEST(Json, TakesTimeByTheKey) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += cat(i == 0 ? "" : ",", "\"", i, "\":0");
  EXPECT_EQ(from_json(text + "}").as_dict().size(), 300'000u);
  EXPECT_THROW(from_json(std::string((std::size_t{128} << 20) + 1, ' ')), InputError);
}

TEST(Json, NumbersBeyondInt64BecomeDoubles) {
  EXPECT_EQ(from_json("18446744073709551615").as_double(), 18446744073709551615.0);
}

}  // namespace
}  // namespace ronde
