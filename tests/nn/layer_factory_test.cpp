#include <ronde/nn/layer_factory.h>

#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const ConfigValue& value) {
  struct Visitor {
    ordered_json operator()(std::monostate) const { return nullptr; }
    ordered_json operator()(bool x) const { return x; }
    ordered_json operator()(std::int64_t x) const { return x; }
    ordered_json operator()(double x) const { return x; }
    ordered_json operator()(const std::string& x) const { return x; }
    ordered_json operator()(const ConfigList& x) const {
      ordered_json list = ordered_json::array();
      for (const ConfigValue& entry : x) list.push_back(to_json(entry));
      return list;
    }
    ordered_json operator()(const ConfigDict& x) const {
      ordered_json dict = ordered_json::object();
      for (const auto& [key, entry] : x) dict[key] = to_json(entry);
      return dict;
    }
  };
  return std::visit(Visitor{}, value.storage());
}

ConfigValue from_json(const ordered_json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  ConfigList list;
  ConfigDict dict;
  for (const auto& [key, entry] : json.items()) {
    list.push_back(from_json(entry));
    dict.emplace_back(key, from_json(entry));
  }
  return json.is_array() ? ConfigValue(list) : ConfigValue(dict);
}

std::string text(const Module& layer) {
  return to_json(layer.config()).dump();
}
std::unique_ptr<Module> parse(const std::string& class_name, const std::string& json) {
  return layer_from_config(class_name, from_json(ordered_json::parse(json)));
}

/// The keys are exactly these, and a layer made of the config has the same one.
void expect_config(const Module& layer, const std::string& expected) {
  EXPECT_EQ(text(layer), ordered_json::parse(expected).dump());
  const auto copy = layer_from_config(layer.class_name(), layer.config());
  EXPECT_EQ(copy->class_name(), layer.class_name());
  EXPECT_EQ(text(*copy), text(layer));
}

TEST(LayerFactory, WritesTheKeysThatEveryKerasKnows) {
  expect_config(Conv2D({.filters = 32, .kernel = {3, 5}, .activation = Activation::relu}), R"({
    "name": "conv2d", "trainable": true, "dtype": "float32", "filters": 32, "kernel_size": [3, 5],
    "strides": [1, 1], "padding": "valid", "data_format": "channels_last", "dilation_rate": [1, 1],
    "groups": 1, "activation": "relu", "use_bias": true,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(DepthwiseConv2D({.strides = {2, 2}, .padding = Padding::same, .depth_multiplier = 2}), R"({
    "name": "depthwise_conv2d", "trainable": true, "dtype": "float32", "kernel_size": [3, 3],
    "strides": [2, 2], "padding": "same", "depth_multiplier": 2, "data_format": "channels_last",
    "dilation_rate": [1, 1], "activation": "linear", "use_bias": true,
    "depthwise_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(Dense({.units = 10,
                       .activation = Activation::softmax,
                       .use_bias = false,
                       .kernel_initializer = Initializer::random_normal(0.0, 0.5),
                       .name = "head"}),
                R"({
    "name": "head", "trainable": true, "dtype": "float32", "units": 10, "activation": "softmax",
    "use_bias": false,
    "kernel_initializer": {"class_name": "RandomNormal", "config": {"mean": 0.0, "stddev": 0.5, "seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(MaxPooling2D({.pool = {3, 2}}), R"({
    "name": "max_pooling2d", "trainable": true, "dtype": "float32", "pool_size": [3, 2], "strides": [3, 2],
    "padding": "valid", "data_format": "channels_last"})");
  expect_config(AveragePooling2D({.strides = Size2d{1, 1}, .padding = Padding::same}), R"({
    "name": "average_pooling2d", "trainable": true, "dtype": "float32", "pool_size": [2, 2],
    "strides": [1, 1], "padding": "same", "data_format": "channels_last"})");
  expect_config(GlobalAveragePooling2D(), R"({
    "name": "global_average_pooling2d", "trainable": true, "dtype": "float32",
    "data_format": "channels_last"})");
  expect_config(Dropout(0.25), R"({"name": "dropout", "trainable": true, "dtype": "float32", "rate": 0.25})");
  expect_config(Flatten(), R"({
    "name": "flatten", "trainable": true, "dtype": "float32", "data_format": "channels_last"})");
  expect_config(Activation(Activation::silu), R"({
    "name": "activation", "trainable": true, "dtype": "float32", "activation": "swish"})");
  expect_config(BatchNormalization({.momentum = 0.9, .scale = false}), R"({
    "name": "batch_normalization", "trainable": true, "dtype": "float32", "axis": -1, "momentum": 0.9,
    "epsilon": 0.001, "center": true, "scale": false,
    "beta_initializer": {"class_name": "Zeros", "config": {}},
    "gamma_initializer": {"class_name": "Ones", "config": {}},
    "moving_mean_initializer": {"class_name": "Zeros", "config": {}},
    "moving_variance_initializer": {"class_name": "Ones", "config": {}}})");
}

TEST(LayerFactory, EveryInitializerSurvivesARoundTrip) {
  const Initializer initializers[] = {
      Initializer::zeros,
      Initializer::ones,
      Initializer::glorot_uniform,
      Initializer::glorot_normal,
      Initializer::he_uniform,
      Initializer::he_normal,
      Initializer::lecun_uniform,
      Initializer::lecun_normal,
      Initializer::constant(0.5),
      Initializer::random_uniform(-1, 2),
      Initializer::random_normal(1, 2),
      Initializer::truncated_normal(3, 4),
      Initializer::variance_scaling({.scale = 2.0,
                                     .mode = Initializer::FanMode::fan_out,
                                     .distribution = Initializer::Distribution::normal})};
  for (const Initializer& initializer : initializers) {
    const Initializer copy = Initializer::from_config(initializer.config());
    EXPECT_EQ(to_json(copy.config()), to_json(initializer.config()));
    EXPECT_EQ(copy.make({3, 4}, "w", in_f64()).to_vector<double>(),
              initializer.make({3, 4}, "w", in_f64()).to_vector<double>());
  }
}

TEST(LayerFactory, EveryActivationSurvivesARoundTrip) {
  for (int kind = Activation::linear; kind <= Activation::log_softmax; ++kind) {
    const Activation layer(static_cast<Activation::Kind>(kind));
    const auto copy = layer_from_config("Activation", layer.config());
    EXPECT_EQ(static_cast<const Activation&>(*copy).kind(), kind);
  }
}

TEST(LayerFactory, SequentialSurvivesARoundTripWithItsWeights) {
  Sequential net(Conv2D({.filters = 3}), BatchNormalization(), MaxPooling2D(), Flatten(),
                 Sequential(Dense({.units = 4, .activation = Activation::relu}), Dropout(0.5)),
                 Dense({.units = 2}));
  net.build({6, 6, 1}, in_f64());
  const auto copy = layer_from_config("Sequential", net.config());
  copy->build({6, 6, 1}, in_f64());
  const std::vector<Parameter> a = net.parameters(), b = copy->parameters();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].variable.value().to_vector<double>(), b[i].variable.value().to_vector<double>());
  }
}

TEST(LayerFactory, ReadsWhatAnyKerasWrites) {
  // Keras 3: dtype policies, long initializers, unknown keys.
  const auto dense = parse("Dense", R"({
    "name": "d", "trainable": false,
    "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}},
    "units": 3, "activation": "relu", "use_bias": true, "kernel_regularizer": null,
    "quantization_config": null, "something_new": {"a": [1]},
    "kernel_initializer": {"module": "keras.initializers", "class_name": "HeNormal",
                           "config": {"seed": 3}, "registered_name": null},
    "bias_initializer": "ones"})");
  EXPECT_EQ(dense->name(), "d");
  EXPECT_FALSE(dense->trainable());
  const ordered_json config = to_json(dense->config());
  EXPECT_EQ(config["kernel_initializer"]["class_name"], "HeNormal");
  EXPECT_EQ(config["bias_initializer"]["class_name"], "Ones");
  // Standalone Keras: no dtype, sizes as one number, an input shape on the layer.
  const auto conv =
      parse("Custom>Conv2D", R"({"filters": 4, "kernel_size": 5, "batch_input_shape": [null, 9, 9, 1]})");
  conv->build({9, 9, 1});
  EXPECT_EQ(conv->output_shape(), (Shape{1, 5, 5, 4}));
  // Keras 2 writes the axis as a list.
  EXPECT_EQ(parse("BatchNormalization", R"({"axis": [3], "epsilon": 1e-5})")->class_name(),
            "BatchNormalization");
  EXPECT_EQ(parse("ReLU", R"({"name": "r", "max_value": null, "negative_slope": 0.0})")->name(), "r");
  const auto net = parse("Sequential", R"({"name": "n", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4]}},
    {"class_name": "Dense", "config": {"name": "d", "units": 2}}]})");
  EXPECT_EQ(net->children().size(), 1u);
}

TEST(LayerFactory, ErrorsNameLayerKeyAndValue) {
  const auto message = [](const std::string& class_name, const std::string& json) {
    EXPECT_THROW(parse(class_name, json), InputError);
    return message_of([&] { parse(class_name, json); });
  };
  EXPECT_EQ(message("Conv2D", R"({"name": "c", "filters": 2, "data_format": "channels_first"})"),
            "[Conv2D \"c\"] data_format: \"channels_first\" is not supported, only \"channels_last\"");
  EXPECT_EQ(message("Dense", R"({"name": "d", "units": 2, "activation": "exponential"})"),
            "[Dense \"d\"] activation: \"exponential\" is not supported");
  EXPECT_EQ(message("Dense", R"({"units": 2, "kernel_regularizer": {"class_name": "L2"}})"),
            "[Dense] kernel_regularizer: is not supported");
  EXPECT_EQ(message("Dense", R"({"name": "d"})"), "[Dense \"d\"] units: missing");
  EXPECT_EQ(message("Dense", R"({"units": 2.5})"), "[Dense] units: expected an integer, found a number");
  EXPECT_EQ(message("Dense", R"({"units": 2, "kernel_initializer": {"class_name": "Orthogonal"}})"),
            "[Dense] kernel_initializer: initializer \"Orthogonal\" is not supported");
  EXPECT_EQ(message("MaxPooling2D", R"({"pool_size": [1, 2, 3]})"),
            "[MaxPooling2D] pool_size: expected two integers, found 3");
  EXPECT_EQ(message("BatchNormalization", R"({"axis": 2})"),
            "[BatchNormalization] axis: 2 is not supported, only the last axis");
  EXPECT_NE(message("LSTM", "{}").find("layer class \"LSTM\" is not supported"), std::string::npos);
  // What the constructor refuses is a fault of the file here.
  EXPECT_EQ(message("Dropout", R"({"rate": 1.5})"), "[dropout] rate must be in [0, 1), got 1.5");
  for (const char* json :
       {"[]", "3", "null", R"({"name": 3, "units": 2})", R"({"units": 2, "trainable": "yes"})"})
    EXPECT_THROW(parse("Dense", json), InputError) << json;
  EXPECT_THROW(parse("Sequential", R"({"layers": [{"config": {}}]})"), InputError);
}

}  // namespace
}  // namespace ronde::test
