#include <ronde/nn/config.h>

#include "config/snake_case.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(Config, HoldsValuesAndFindsKeys) {
  const ConfigValue config =
      ConfigDict{{"a", 1}, {"b", 2.5}, {"c", "text"}, {"d", ConfigList{true, ConfigValue()}}};
  EXPECT_EQ(config.at("a").as_int(), 1);
  EXPECT_EQ(config.at("a").as_double(), 1.0);
  EXPECT_EQ(config.at("b").as_double(), 2.5);
  EXPECT_EQ(config.at("c").as_string(), "text");
  EXPECT_TRUE(config.at("d").as_list()[0].as_bool());
  EXPECT_TRUE(config.at("d").as_list()[1].is_null());
  EXPECT_EQ(config.find("e"), nullptr);
  EXPECT_EQ(config.as_dict()[2].first, "c");
}

TEST(Config, ErrorsSayWhatWasFound) {
  const ConfigValue config = ConfigDict{{"a", 2.5}};
  EXPECT_EQ(message_of([&] { (void)config.at("b"); }), "key \"b\" is missing");
  EXPECT_EQ(message_of([&] { (void)config.at("a").as_int(); }), "expected an integer, found a number");
  EXPECT_EQ(message_of([&] { (void)ConfigValue().as_dict(); }), "expected a dict, found null");
  EXPECT_THROW((void)config.as_list(), InputError);
}

TEST(SnakeCase, IsKeras) {
  EXPECT_EQ(snake_case("Conv2D"), "conv2d");
  EXPECT_EQ(snake_case("MaxPooling2D"), "max_pooling2d");
  EXPECT_EQ(snake_case("GlobalAveragePooling2D"), "global_average_pooling2d");
  EXPECT_EQ(snake_case("BatchNormalization"), "batch_normalization");
  EXPECT_EQ(snake_case("DepthwiseConv2D"), "depthwise_conv2d");
  EXPECT_EQ(snake_case("GlorotUniform"), "glorot_uniform");
}

}  // namespace
}  // namespace ronde::test
