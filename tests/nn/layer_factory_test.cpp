#include <ronde/nn/layer_factory.h>

#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/conv2d_transpose.h>
#include <ronde/nn/cropping2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/layer_scale.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/separable_conv2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/softmax.h>
#include <ronde/nn/up_sampling2d.h>
#include <ronde/nn/zero_padding2d.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

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
  expect_config(SeparableConv2D({.filters = 8, .strides = {2, 1}, .depth_multiplier = 2}), R"({
    "name": "separable_conv2d", "trainable": true, "dtype": "float32", "filters": 8, "kernel_size": [3, 3],
    "strides": [2, 1], "padding": "valid", "data_format": "channels_last", "dilation_rate": [1, 1],
    "depth_multiplier": 2, "activation": "linear", "use_bias": true,
    "depthwise_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "pointwise_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(
      Conv2DTranspose({.filters = 8, .kernel = {2, 3}, .strides = {2, 1}, .padding = Padding::same}),
      R"({
    "name": "conv2d_transpose", "trainable": true, "dtype": "float32", "filters": 8, "kernel_size": [2, 3],
    "strides": [2, 1], "padding": "same", "output_padding": null, "data_format": "channels_last",
    "dilation_rate": [1, 1], "activation": "linear", "use_bias": true,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
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
  expect_config(GlobalMaxPooling2D(), R"({
    "name": "global_max_pooling2d", "trainable": true, "dtype": "float32", "data_format": "channels_last"})");
  expect_config(GlobalAveragePooling2D({.keepdims = true}), R"({
    "name": "global_average_pooling2d", "trainable": true, "dtype": "float32", "data_format": "channels_last",
    "keepdims": true})");
  expect_config(GlobalMaxPooling2D({.keepdims = true, .name = "largest"}), R"({
    "name": "largest", "trainable": true, "dtype": "float32", "data_format": "channels_last",
    "keepdims": true})");
  expect_config(GlobalAveragePooling1D({.keepdims = true}), R"({
    "name": "global_average_pooling1d", "trainable": true, "dtype": "float32", "data_format": "channels_last",
    "keepdims": true})");
  expect_config(ZeroPadding2D({.top = 0, .left = 2, .right = 3}), R"({
    "name": "zero_padding2d", "trainable": true, "dtype": "float32", "padding": [[0, 1], [2, 3]],
    "data_format": "channels_last"})");
  expect_config(Cropping2D({.top = 1, .left = 2, .right = 3}), R"({
    "name": "cropping2d", "trainable": true, "dtype": "float32", "cropping": [[1, 0], [2, 3]],
    "data_format": "channels_last"})");
  expect_config(UpSampling2D({.size = {2, 3}, .interpolation = Interpolation::bilinear}), R"({
    "name": "up_sampling2d", "trainable": true, "dtype": "float32", "size": [2, 3],
    "data_format": "channels_last", "interpolation": "bilinear"})");
  expect_config(Reshape({.target_shape = {2, -1, 3}}), R"({
    "name": "reshape", "trainable": true, "dtype": "float32", "target_shape": [2, -1, 3]})");
  expect_config(ReLU({.max_value = 6.0}), R"({
    "name": "re_lu", "trainable": true, "dtype": "float32", "max_value": 6.0, "negative_slope": 0.0,
    "threshold": 0.0})");
  expect_config(ReLU({.negative_slope = 0.5}), R"({
    "name": "re_lu", "trainable": true, "dtype": "float32", "max_value": null, "negative_slope": 0.5,
    "threshold": 0.0})");
  expect_config(LeakyReLU(), R"({
    "name": "leaky_re_lu", "trainable": true, "dtype": "float32", "alpha": 0.3})");
  expect_config(Softmax(), R"({"name": "softmax", "trainable": true, "dtype": "float32", "axis": -1})");
  expect_config(Concatenate(1), R"({
    "name": "concatenate", "trainable": true, "dtype": "float32", "axis": 1})");
  expect_config(Add(), R"({"name": "add", "trainable": true, "dtype": "float32"})");
  expect_config(Subtract(), R"({"name": "subtract", "trainable": true, "dtype": "float32"})");
  expect_config(Multiply(), R"({"name": "multiply", "trainable": true, "dtype": "float32"})");
  expect_config(Average(), R"({"name": "average", "trainable": true, "dtype": "float32"})");
  expect_config(Maximum(), R"({"name": "maximum", "trainable": true, "dtype": "float32"})");
  expect_config(CustomScaleLayer(0.25), R"({
    "name": "custom_scale_layer", "trainable": true, "dtype": "float32", "scale": 0.25})");
  LayerScale layer_scale({.init_values = 0.5});
  layer_scale.build({2, 3});
  expect_config(layer_scale, R"({"name": "layer_scale", "trainable": true, "dtype": "float32",
                                 "init_values": 0.5, "projection_dim": 3})");
  expect_config(Minimum(), R"({"name": "minimum", "trainable": true, "dtype": "float32"})");
  expect_config(Dropout(0.25), R"({"name": "dropout", "trainable": true, "dtype": "float32", "rate": 0.25})");
  expect_config(Dropout(0.25, {1, -1}), R"({
    "name": "dropout", "trainable": true, "dtype": "float32", "rate": 0.25, "noise_shape": [null, 1, null]})");
  expect_config(Flatten(), R"({
    "name": "flatten", "trainable": true, "dtype": "float32", "data_format": "channels_last"})");
  expect_config(Embedding({.input_dim = 9, .output_dim = 4}), R"({
    "name": "embedding", "trainable": true, "dtype": "float32", "input_dim": 9, "output_dim": 4,
    "embeddings_initializer": {"class_name": "RandomUniform",
                               "config": {"minval": -0.05, "maxval": 0.05, "seed": null}},
    "mask_zero": false})");
  expect_config(GlobalAveragePooling1D(), R"({
    "name": "global_average_pooling1d", "trainable": true, "dtype": "float32",
    "data_format": "channels_last"})");
  expect_config(BatchNormalization({.scale = false, .synchronized = true}), R"({
    "name": "batch_normalization", "trainable": true, "dtype": "float32", "axis": -1, "momentum": 0.99,
    "epsilon": 0.001, "center": true, "scale": false,
    "beta_initializer": {"class_name": "Zeros", "config": {}},
    "gamma_initializer": {"class_name": "Ones", "config": {}},
    "moving_mean_initializer": {"class_name": "Zeros", "config": {}},
    "moving_variance_initializer": {"class_name": "Ones", "config": {}}, "synchronized": true})");
  expect_config(Activation(Activation::silu), R"({
    "name": "activation", "trainable": true, "dtype": "float32", "activation": "swish"})");
  expect_config(Normalization({.mean = {1.5, 2.0}, .variance = {4.0, 0.25}, .invert = true}), R"({
    "name": "normalization", "trainable": true, "dtype": "float32", "axis": -1, "mean": [1.5, 2.0],
    "variance": [4.0, 0.25], "invert": true})");
  expect_config(Normalization(), R"({
    "name": "normalization", "trainable": true, "dtype": "float32", "axis": -1, "mean": null,
    "variance": null})");
  expect_config(LayerNormalization({.axes = {2, 3}, .epsilon = 1e-6, .scale = false}), R"({
    "name": "layer_normalization", "trainable": true, "dtype": "float32", "axis": [2, 3], "epsilon": 1e-6,
    "center": true, "scale": false, "beta_initializer": {"class_name": "Zeros", "config": {}},
    "gamma_initializer": {"class_name": "Ones", "config": {}}})");
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
  for (int kind = Activation::linear; kind <= Activation::kLastKind; ++kind) {
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
      parse("Conv2D", R"({"filters": 4, "kernel_size": 5, "batch_input_shape": [null, 9, 9, 1]})");
  conv->build({9, 9, 1});
  EXPECT_EQ(conv->output_shape(), (Shape{1, 5, 5, 4}));
  // Keras 2 writes the axis as a list.
  EXPECT_EQ(parse("BatchNormalization", R"({"axis": [3], "epsilon": 1e-5})")->class_name(),
            "BatchNormalization");
  EXPECT_EQ(parse("ReLU", R"({"name": "r", "max_value": null, "negative_slope": 0.0})")->name(), "r");
  // Keras 3's word for alpha, and the three ways of writing a padding.
  EXPECT_EQ(to_json(parse("LeakyReLU", R"({"negative_slope": 0.125})")->config())["alpha"], 0.125);
  for (const char* padding : {"[[2, 2], [2, 2]]", "[2, 2]", "2"})
    EXPECT_EQ(to_json(parse("ZeroPadding2D", cat(R"({"padding": )", padding, "}"))->config())["padding"],
              ordered_json::parse("[[2, 2], [2, 2]]"));
  for (const char* cropping : {"[[1, 1], [2, 2]]", "[1, 2]", "[1, [2, 2]]"})
    EXPECT_EQ(to_json(parse("Cropping2D", cat(R"({"cropping": )", cropping, "}"))->config())["cropping"],
              ordered_json::parse("[[1, 1], [2, 2]]"));
  EXPECT_EQ(to_json(parse("Cropping2D", "{}")->config())["cropping"],
            ordered_json::parse("[[0, 0], [0, 0]]"));
  // Another name for hard_silu, and a function with its module.
  for (const char* function : {R"("hard_swish")", R"({"module": "keras.ops", "class_name": "function",
                                                      "config": "hard_silu", "registered_name": "hard_silu"})"})
    EXPECT_EQ(to_json(parse("Activation", cat(R"({"activation": )", function, "}"))->config())["activation"],
              "hard_silu");
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
  EXPECT_EQ(message("Dense", R"({"name": "d", "units": 2, "activation": "tanh_shrink"})"),
            "[Dense \"d\"] activation: \"tanh_shrink\" is not supported");
  EXPECT_EQ(message("Dense", R"({"units": 2, "lora_rank": 4})"), "[Dense] lora_rank: is not supported");
  EXPECT_EQ(message("Conv2D", R"({"filters": 2, "lora_rank": 4})"), "[Conv2D] lora_rank: is not supported");
  EXPECT_EQ(message("DepthwiseConv2D", R"({"lora_rank": 4})"),
            "[DepthwiseConv2D] lora_rank: is not supported");
  EXPECT_EQ(message("Cropping2D", R"({"name": "z", "cropping": [[1, 2, 3], 1]})"),
            "[Cropping2D \"z\"] cropping: expected two entries, found 3");
  EXPECT_EQ(message("Dense", R"({"name": "d"})"), "[Dense \"d\"] units: missing");
  EXPECT_EQ(message("Dense", R"({"units": 2.5})"), "[Dense] units: expected an integer, found a number");
  EXPECT_EQ(message("MaxPooling2D", R"({"pool_size": [1, 2, 3]})"),
            "[MaxPooling2D] pool_size: expected two integers, found 3");
  EXPECT_EQ(message("BatchNormalization", R"({"axis": [1, 2]})"),
            "[BatchNormalization] axis: expected one axis, found 2");
  EXPECT_EQ(message("ZeroPadding2D", R"({"name": "z", "padding": [1, 2, 3]})"),
            "[ZeroPadding2D \"z\"] padding: expected two entries, found 3");
  EXPECT_EQ(message("Conv2DTranspose", R"({"filters": 2, "output_padding": [1, 1]})"),
            "[Conv2DTranspose] output_padding: is not supported");
  EXPECT_EQ(message("Conv2DTranspose", R"({"filters": 2, "dilation_rate": [2, 1]})"),
            "[Conv2DTranspose] dilation_rate: only 1 is supported");
  EXPECT_EQ(message("UpSampling2D", R"({"name": "u", "interpolation": "bicubic"})"),
            "[UpSampling2D \"u\"] interpolation: \"bicubic\" is not supported, only \"nearest\" and "
            "\"bilinear\"");
  EXPECT_EQ(message("UpSampling2D", R"({"size": [2, 0]})"),
            "[up_sampling2d] size must be positive, got 2 x 0");
  EXPECT_EQ(message("Reshape", R"({"name": "r"})"), "[Reshape \"r\"] target_shape: missing");
  EXPECT_EQ(message("Reshape", R"({"target_shape": [2, 0]})"),
            "[reshape] target_shape must have positive extents and at most one -1, got (2, 0)");
  EXPECT_EQ(message("Reshape", R"({"target_shape": [1, 1, 1, 1, 1, 1, 1, 1, 1]})"),
            "[Reshape] target_shape: at most 7 extents are supported, found 9");
  EXPECT_EQ(message("Normalization", R"({"mean": 2.0})"), "[normalization] has 1 mean and 0 variances");
  EXPECT_EQ(message("Normalization", R"({"axis": [1, 2]})"),
            "[Normalization] axis: expected one axis, found 2");
  EXPECT_EQ(message("Normalization", R"({"mean": [[1.0]], "variance": [[1.0]]})"),
            "[Normalization] mean: expected a number, found a list");
  EXPECT_EQ(message("LayerNormalization", R"({"rms_scaling": true})"),
            "[LayerNormalization] rms_scaling: true is not supported");
  EXPECT_EQ(message("LayerNormalization", R"({"axis": []})"),
            "[layer_normalization] needs an axis to normalise over");
  EXPECT_EQ(message("ReLU", R"({"threshold": 0.5})"), "[ReLU] threshold: only 0 is supported");
  EXPECT_EQ(message("Concatenate", R"({"axis": 0})"), "[Concatenate] axis: 0 is not supported");
  EXPECT_EQ(message("LSTM", "{}"),
            "layer class \"LSTM\" is not supported; known are Activation, Add, Average, AveragePooling2D, "
            "BatchNormalization, Concatenate, Conv2D, Conv2DTranspose, Cropping2D, CustomScaleLayer, Dense, "
            "DepthwiseConv2D, Dropout, Embedding, Flatten, "
            "Functional, GaussianDropout, GaussianNoise, GlobalAveragePooling1D, GlobalAveragePooling2D, "
            "GlobalMaxPooling2D, "
            "LayerNormalization, LayerScale, LeakyReLU, MaxPooling2D, Maximum, Minimum, Multiply, "
            "Normalization, RandomBrightness, RandomContrast, RandomFlip, RandomRotation, RandomTranslation, "
            "RandomZoom, ReLU, Rescaling, Reshape, SeparableConv2D, Sequential, Softmax, SpatialDropout2D, "
            "StochasticDepth, "
            "Subtract, "
            "UpSampling2D, ZeroPadding2D");
  EXPECT_EQ(message("GRU", R"({"name": "memory"})").substr(0, 45),
            "layer \"memory\": class \"GRU\" is not supported;");
  EXPECT_EQ(message("Dense", R"({"name": "d", "units": 2, "dtype": {"class_name": "QuantizedDTypePolicy",
                                "config": {"mode": "int8", "source_name": "float32"}}})"),
            "[Dense \"d\"] dtype: QuantizedDTypePolicy: a quantized layer is not supported");
  EXPECT_EQ(message("Dropout", R"({"noise_shape": [8, 1]})"),
            "[Dropout] noise_shape: only one is supported that has null for the batch");
  // What the constructor refuses is a fault of the file here.
  EXPECT_EQ(message("Dropout", R"({"rate": 1.5})"), "[dropout] rate must be in [0, 1), got 1.5");
  for (const char* json :
       {"[]", "3", "null", R"({"name": 3, "units": 2})", R"({"units": 2, "trainable": "yes"})"})
    EXPECT_THROW(parse("Dense", json), InputError) << json;
  EXPECT_THROW(parse("Sequential", R"({"layers": [{"config": {}}]})"), InputError);
}

// A program's own Dense computes something else, or it would be Keras'.
TEST(LayerFactory, ClassesOfAProgramAreRefused) {
  for (const char* class_name : {"my>Dense", "Custom>Dense", "training.Dense", "my>Sequential"})
    EXPECT_EQ(
        message_of<InputError>([&] { parse(class_name, R"({"name": "d", "units": 2, "layers": []})"); }),
        cat("layer \"d\": class \"", class_name,
            "\" is not one of Keras: what it computes, only the program that made it knows"));
}

TEST(LayerFactory, OptionsThatAreNotKnownAreNamed) {
  const auto unknown = [](const char* class_name, const char* json) {
    return unknown_options(class_name, from_json(ordered_json::parse(json)));
  };
  using Options = std::vector<std::string>;
  EXPECT_EQ(unknown("Dense", R"({"name": "d", "units": 2, "new": 3, "newer": null, "bias_regularizer": "l2",
                                 "dtype": "float32", "batch_input_shape": [null, 3], "last": {"a": 1}})"),
            (Options{"new", "last"}));
  EXPECT_EQ(
      unknown("Sequential", R"({"layers": [{"class_name": "Flatten", "config": {"own": 1}}], "mode": 1})"),
      Options{"mode"});
  for (const std::string& class_name : layer_class_names()) {
    if (class_name == "Functional" || class_name == "Sequential") continue;
    const bool scales = class_name == "Rescaling" || class_name == "CustomScaleLayer";
    const auto layer = parse(class_name, scales ? R"({"scale": 0.5})" : R"({
      "units": 2, "filters": 2, "rate": 0.5, "input_dim": 2, "output_dim": 2, "target_shape": [-1],
      "init_values": 0.5, "projection_dim": 3, "drop_path_rate": 0.5})");
    EXPECT_EQ(unknown_options(layer->class_name(), layer->config()), Options()) << class_name;
  }
}

// Keras writes the last axis by its number, too. Another one has weights or outputs of the same shape where
// extents are equal, so that only the axis tells.
TEST(LayerFactory, AxesAreThoseOfTheInputs) {
  for (const char* layer : {"BatchNormalization", "Normalization", "Softmax"}) {
    const auto built = [&](const char* axis, const Shape& shape) {
      return message_of([&] { parse(layer, cat(R"({"name": "x", "axis": )", axis, "}"))->build(shape); });
    };
    for (const auto& [axis, shape] : {std::pair{"-1", Shape{4, 4, 4}},
                                      {"3", {4, 4, 4}},
                                      {"[3]", {4, 4, 4}},
                                      {"2", {4, 4}},
                                      {"1", {4}},
                                      {"[1]", {4}}})
      EXPECT_EQ(built(axis, shape), "no error") << cat(layer, ' ', axis, ' ', shape);
    EXPECT_EQ(built("1", {4, 4, 4}),
              "[x] axis: 1 of inputs (1, 4, 4, 4) is not supported, only the last axis");
    EXPECT_EQ(built("[2]", {4, 4, 4}),
              "[x] axis: 2 of inputs (1, 4, 4, 4) is not supported, only the last axis");
    EXPECT_EQ(built("1", {4, 4}), "[x] axis: 1 of inputs (1, 4, 4) is not supported, only the last axis");
    EXPECT_EQ(built("-2", {4, 4}), "[x] axis: -2 of inputs (1, 4, 4) is not supported, only the last axis");
  }
}

// It has no class of its own here: what it drops are whole samples.
TEST(LayerFactory, StochasticDepthIsADropoutOfSamples) {
  const auto layer = parse("StochasticDepth", R"({"name": "x", "drop_path_rate": 0.25})");
  expect_config(*layer, R"({"name": "x", "trainable": true, "dtype": "float32", "rate": 0.25,
                            "noise_shape": [null, 1, 1, 1]})");
}

TEST(LayerFactory, SpatialDropoutIsADropoutOfChannels) {
  const auto layer =
      parse("SpatialDropout2D", R"({"name": "x", "rate": 0.5, "data_format": "channels_last"})");
  expect_config(*layer, R"({"name": "x", "trainable": true, "dtype": "float32", "rate": 0.5,
                            "noise_shape": [null, 1, 1, null]})");
  EXPECT_THROW(parse("SpatialDropout2D", R"({"rate": 0.5, "data_format": "channels_first"})"), InputError);
  const std::vector<double> y =
      (*layer)(Tensor::full({8, 2, 2, 3}, 1.0), {.training = true}).value().to_vector<double>();
  double kept = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], y[i / 12 * 12 + i % 3]) << "a channel is dropped as a whole";
    kept += y[i] / 2.0 / static_cast<double>(y.size());
  }
  EXPECT_GT(kept, 0.2);
  EXPECT_LT(kept, 0.8);
}

// The options as they are, but those of every layer.
TEST(LayerFactory, WhatOnlyTrainingDoesKeepsItsOptions) {
  const auto layer = parse("RandomRotation", R"({"name": "turn", "trainable": true,
      "dtype": {"class_name": "DTypePolicy", "config": {"name": "float32"}}, "batch_input_shape": [null, 4, 4, 3],
      "factor": [-0.1, 0.1], "fill_mode": "reflect", "seed": null})");
  expect_config(*layer, R"({"name": "turn", "trainable": true, "dtype": "float32",
                            "factor": [-0.1, 0.1], "fill_mode": "reflect", "seed": null})");
  const Tensor x = random_tensor({2, 4, 4, 3});
  for (const bool training : {false, true})
    EXPECT_EQ((*layer)(x, {.training = training}).value().to_vector<double>(), x.to_vector<double>());
}

TEST(LayerFactory, LayersAreNormalisedOverTheLastAxes) {
  const auto built = [](const char* axis) {
    return message_of([&] {
      parse("LayerNormalization", cat(R"({"name": "x", "axis": )", axis, "}"))->build({4, 4, 4});
    });
  };
  for (const char* axis : {"-1", "3", "[3]", "[-2, -1]", "[1, 2, 3]"})
    EXPECT_EQ(built(axis), "no error") << axis;
  // Keras 2 and Keras 3 have the weights of [3, 2] in different orders.
  for (const char* axis : {"1", "-2", "[1, 2]", "[1, 3]", "[3, 2]", "[0, 1, 2, 3]", "[3, 3]", "4"})
    EXPECT_EQ(built(axis),
              "[x] axis: only the last axes of inputs (1, 4, 4, 4) are supported, without the batch")
        << axis;
}

// Weights that come from a file do not depend on how they would have begun.
TEST(LayerFactory, AnUnknownInitializerIsTheDefault) {
  const auto dense = parse("Dense", R"({"units": 2, "kernel_initializer": {"class_name": "Orthogonal"}})");
  EXPECT_EQ(to_json(dense->config()), to_json(parse("Dense", R"({"units": 2})")->config()));
}

// Outputs are what they are without them; who trains on is told by name, and a file keeps them.
TEST(LayerFactory, WhatOnlyTrainingSeesIsLeftOutNamedAndKept) {
  const char* object = R"({"class_name": "L2", "config": {"l2": 0.01}})";
  const char* other =
      R"({"class_name": "OrthogonalRegularizer", "config": {"factor": 0.01, "mode": "rows"}})";
  const char* own =
      R"({"module": "my", "class_name": "L2", "config": {"l2": 0.01}, "registered_name": "my>L2"})";
  for (const auto& [class_name, key, value] :
       {std::tuple{"Dense", "kernel_regularizer", other},
        {"Dense", "bias_regularizer", own},
        {"Dense", "kernel_regularizer", R"({"class_name": "L2", "config": {"l2": -1.0}})"},
        {"Dense", "kernel_regularizer", R"("orthogonal")"},
        {"Conv2D", "activity_regularizer", object},
        {"DepthwiseConv2D", "depthwise_constraint", R"({"class_name": "NonNeg", "config": {}})"},
        {"BatchNormalization", "gamma_regularizer", other},
        {"Embedding", "embeddings_constraint", object},
        {"LayerScale", "gamma_regularizer", object},
        {"Flatten", "activity_regularizer", object}}) {
    const std::string config = cat(R"({"name": "x", "units": 2, "filters": 2, "input_dim": 2, "output_dim": 2,
                                       "init_values": 0.5, "projection_dim": 3, ")",
                                   key, "\": ", value, "}");
    const auto built = parse(class_name, config);
    EXPECT_EQ(left_out_of_training(*built), std::vector{cat(key, " of x")}) << value;
    EXPECT_EQ(to_json(built->config())[key], ordered_json::parse(value));
    const auto again = layer_from_config(class_name, built->config());
    EXPECT_EQ(to_json(again->config()), to_json(built->config()));
    Sequential net;
    net.add(parse(class_name, config));
    EXPECT_EQ(left_out_of_training(net), std::vector{cat(key, " of x")}) << "moved";
  }
  const auto net = parse("Sequential", R"({"name": "net", "layers": [
      {"class_name": "Dense", "config": {"name": "a", "units": 2, "kernel_regularizer": null}},
      {"class_name": "Sequential", "config": {"name": "inner", "layers": [
        {"class_name": "Dense", "config": {"name": "b", "units": 2, "bias_constraint": {}}}]}},
      {"class_name": "Dense", "config": {"name": "c", "units": 2, "kernel_regularizer": "l2",
                                         "activity_regularizer": "l1"}}]})");
  EXPECT_EQ(left_out_of_training(*net),
            (std::vector<std::string>{"bias_constraint of inner/b", "activity_regularizer of c"}));
}

}  // namespace
}  // namespace ronde::test
