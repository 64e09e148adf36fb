// What layers write of themselves, against what Keras writes.
#include <ronde/nn/average_pooling1d.h>
#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/conv1d_transpose.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/conv2d_transpose.h>
#include <ronde/nn/cropping1d.h>
#include <ronde/nn/cropping2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv1d.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/dot.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/elu.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling1d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/layer_scale.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/masking.h>
#include <ronde/nn/max_pooling1d.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/repeat_vector.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/separable_conv1d.h>
#include <ronde/nn/separable_conv2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/softmax.h>
#include <ronde/nn/unit_normalization.h>
#include <ronde/nn/up_sampling1d.h>
#include <ronde/nn/up_sampling2d.h>
#include <ronde/nn/zero_padding1d.h>
#include <ronde/nn/zero_padding2d.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(LayerConfig, WritesTheKeysThatEveryKerasKnows) {
  expect_config(Conv2D({.filters = 32, .kernel = {3, 5}, .activation = Activation::relu}), R"({
    "name": "conv2d", "trainable": true, "dtype": "float32", "filters": 32, "kernel_size": [3, 5],
    "strides": [1, 1], "padding": "valid", "data_format": "channels_last", "dilation_rate": [1, 1],
    "groups": 1, "activation": "relu", "use_bias": true,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(DepthwiseConv2D({.strides = {2, 2}, .padding = Padding::same, .depth_multiplier = 2}), R"({
    "name": "depthwise_conv2d", "trainable": true, "dtype": "float32", "kernel_size": [3, 3],
    "strides": [2, 2], "padding": "same", "data_format": "channels_last",
    "dilation_rate": [1, 1], "depth_multiplier": 2, "activation": "linear", "use_bias": true,
    "depthwise_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(DepthwiseConv1D({.strides = 2, .padding = Padding::same, .depth_multiplier = 2}), R"({
    "name": "depthwise_conv1d", "trainable": true, "dtype": "float32", "kernel_size": [3],
    "strides": [2], "padding": "same", "data_format": "channels_last",
    "dilation_rate": [1], "depth_multiplier": 2, "activation": "linear", "use_bias": true,
    "depthwise_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(SeparableConv1D({.filters = 8,
                                 .padding = Padding1D::causal,
                                 .dilation = 2,
                                 .pointwise_regularizer = Regularizer::l2(0.5)}),
                R"({
    "name": "separable_conv1d", "trainable": true, "dtype": "float32", "filters": 8, "kernel_size": [3],
    "strides": [1], "padding": "causal", "data_format": "channels_last", "dilation_rate": [2],
    "depth_multiplier": 1, "activation": "linear", "use_bias": true,
    "depthwise_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "pointwise_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}},
    "pointwise_regularizer": {"class_name": "L2", "config": {"l2": 0.5}}})");
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
    "strides": [2, 1], "padding": "same", "data_format": "channels_last",
    "dilation_rate": [1, 1], "output_padding": null, "activation": "linear", "use_bias": true,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(Conv2DTranspose({.filters = 8, .strides = {2, 3}, .output_padding = Size2d{0, 2}}), R"({
    "name": "conv2d_transpose", "trainable": true, "dtype": "float32", "filters": 8, "kernel_size": [3, 3],
    "strides": [2, 3], "padding": "valid", "data_format": "channels_last",
    "dilation_rate": [1, 1], "output_padding": [0, 2], "activation": "linear", "use_bias": true,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(Conv2DTranspose({.filters = 8, .dilation = {1, 2}}), R"({
    "name": "conv2d_transpose", "trainable": true, "dtype": "float32", "filters": 8, "kernel_size": [3, 3],
    "strides": [1, 1], "padding": "valid", "data_format": "channels_last",
    "dilation_rate": [1, 2], "output_padding": null, "activation": "linear", "use_bias": true,
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
  expect_config(GlobalMaxPooling1D(), R"({
    "name": "global_max_pooling1d", "trainable": true, "dtype": "float32", "data_format": "channels_last"})");
  expect_config(Conv1D({.filters = 8, .kernel = 5, .strides = 2, .padding = Padding1D::causal}), R"({
    "name": "conv1d", "trainable": true, "dtype": "float32", "filters": 8, "kernel_size": [5], "strides": [2],
    "padding": "causal", "data_format": "channels_last", "dilation_rate": [1], "groups": 1,
    "activation": "linear", "use_bias": true,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(
      Conv1DTranspose(
          {.filters = 2, .strides = 3, .padding = Padding::same, .output_padding = 1, .use_bias = false}),
      R"({
    "name": "conv1d_transpose", "trainable": true, "dtype": "float32", "filters": 2, "kernel_size": [3],
    "strides": [3], "padding": "same", "data_format": "channels_last",
    "dilation_rate": [1], "output_padding": [1], "activation": "linear", "use_bias": false,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(MaxPooling1D({.pool = 3}), R"({
    "name": "max_pooling1d", "trainable": true, "dtype": "float32", "pool_size": [3], "strides": [3],
    "padding": "valid", "data_format": "channels_last"})");
  expect_config(AveragePooling1D({.pool = 3, .strides = 1, .padding = Padding::same}), R"({
    "name": "average_pooling1d", "trainable": true, "dtype": "float32", "pool_size": [3], "strides": [1],
    "padding": "same", "data_format": "channels_last"})");
  expect_config(ZeroPadding1D({.front = 2, .back = 0}), R"({
    "name": "zero_padding1d", "trainable": true, "dtype": "float32", "padding": [2, 0]})");
  expect_config(Cropping1D({.front = 2, .back = 0}), R"({
    "name": "cropping1d", "trainable": true, "dtype": "float32", "cropping": [2, 0]})");
  expect_config(UpSampling1D({.size = 3}), R"({
    "name": "up_sampling1d", "trainable": true, "dtype": "float32", "size": 3})");
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
  expect_config(Permute({2, 1}), R"({
    "name": "permute", "trainable": true, "dtype": "float32", "dims": [2, 1]})");
  expect_config(RepeatVector(4),
                R"({"name": "repeat_vector", "trainable": true, "dtype": "float32", "n": 4})");
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
  expect_config(Dot({.axes = {-1}}), R"({
    "name": "dot", "trainable": true, "dtype": "float32", "axes": -1, "normalize": false})");
  expect_config(Dot({.axes = {2, 1}, .normalize = true}), R"({
    "name": "dot", "trainable": true, "dtype": "float32", "axes": [2, 1], "normalize": true})");
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
  expect_config(Masking(-1.5), R"({
    "name": "masking", "trainable": true, "dtype": "float32", "mask_value": -1.5})");
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

TEST(LayerConfig, NormalizationsAndSlopesHaveTheKeysOfTheirKerases) {
  expect_config(ELU(0.25), R"({"name": "elu", "trainable": true, "dtype": "float32", "alpha": 0.25})");
  expect_config(PReLU(), R"({
    "name": "p_re_lu", "trainable": true, "dtype": "float32",
    "alpha_initializer": {"class_name": "Zeros", "config": {}}, "shared_axes": null})");
  expect_config(PReLU({.alpha_regularizer = Regularizer::l2(0.5), .shared_axes = {1, 2}}), R"({
    "name": "p_re_lu", "trainable": true, "dtype": "float32",
    "alpha_initializer": {"class_name": "Zeros", "config": {}},
    "alpha_regularizer": {"class_name": "L2", "config": {"l2": 0.5}}, "shared_axes": [1, 2]})");
  expect_config(GroupNormalization({.groups = 4, .epsilon = 1e-5, .center = false}), R"({
    "name": "group_normalization", "trainable": true, "dtype": "float32", "groups": 4, "axis": -1,
    "epsilon": 1e-5, "center": false, "scale": true,
    "beta_initializer": {"class_name": "Zeros", "config": {}},
    "gamma_initializer": {"class_name": "Ones", "config": {}}})");
  expect_config(RMSNormalization({.epsilon = 1e-5}), R"({
    "name": "rms_normalization", "trainable": true, "dtype": "float32", "axis": -1, "epsilon": 1e-5})");
  expect_config(UnitNormalization(),
                R"({"name": "unit_normalization", "trainable": true, "dtype": "float32", "axis": -1})");
  expect_config(UnitNormalization({.axes = {1, -1}}),
                R"({"name": "unit_normalization", "trainable": true, "dtype": "float32", "axis": [1, -1]})");
}

// Keras takes null for all axes at once.
TEST(LayerConfig, ASoftmaxOfAllAxesIsRefused) {
  const auto softmax = [](const ConfigDict& config) { return layer_from_config("Softmax", config); };
  EXPECT_NO_THROW(softmax({{"name", "softmax"}}));
  const std::string message = message_of([&] { softmax({{"name", "softmax"}, {"axis", ConfigValue()}}); });
  EXPECT_NE(message.find("axis: of all axes at once is not supported"), std::string::npos) << message;
}

TEST(LayerConfig, InitializersHaveKerasNamesAndSurviveARoundTrip) {
  const std::pair<Initializer, const char*> initializers[] = {
      {Initializer::zeros, R"({"class_name": "Zeros", "config": {}})"},
      {Initializer::ones, R"({"class_name": "Ones", "config": {}})"},
      {Initializer::glorot_uniform, R"({"class_name": "GlorotUniform", "config": {"seed": null}})"},
      {Initializer::glorot_normal, R"({"class_name": "GlorotNormal", "config": {"seed": null}})"},
      {Initializer::he_uniform, R"({"class_name": "HeUniform", "config": {"seed": null}})"},
      {Initializer::he_normal, R"({"class_name": "HeNormal", "config": {"seed": null}})"},
      {Initializer::lecun_uniform, R"({"class_name": "LecunUniform", "config": {"seed": null}})"},
      {Initializer::lecun_normal, R"({"class_name": "LecunNormal", "config": {"seed": null}})"},
      {Initializer::constant(0.5), R"({"class_name": "Constant", "config": {"value": 0.5}})"},
      {Initializer::random_uniform(-1, 2),
       R"({"class_name": "RandomUniform", "config": {"minval": -1.0, "maxval": 2.0, "seed": null}})"},
      {Initializer::random_normal(1, 2),
       R"({"class_name": "RandomNormal", "config": {"mean": 1.0, "stddev": 2.0, "seed": null}})"},
      {Initializer::truncated_normal(3, 4),
       R"({"class_name": "TruncatedNormal", "config": {"mean": 3.0, "stddev": 4.0, "seed": null}})"},
      {Initializer::variance_scaling({.scale = 2.0,
                                      .mode = Initializer::FanMode::fan_out,
                                      .distribution = Initializer::Distribution::normal}),
       R"({"class_name": "VarianceScaling", "config": {"scale": 2.0, "mode": "fan_out",
           "distribution": "untruncated_normal", "seed": null}})"}};
  for (const auto& [initializer, expected] : initializers) {
    EXPECT_EQ(to_json(initializer.config()), ordered_json::parse(expected));
    const Initializer copy = Initializer::from_config(from_json(ordered_json::parse(expected)));
    EXPECT_EQ(copy.kind(), initializer.kind()) << expected;
    EXPECT_EQ(copy.make({3, 4}, "w", in_f64()).to_vector<double>(),
              initializer.make({3, 4}, "w", in_f64()).to_vector<double>());
  }
}

TEST(LayerConfig, InitializersHaveModesAndDistributionsOfKerasOnly) {
  const auto scaling = [](const char* key, const char* value) {
    return Initializer::from_config(
        ConfigDict{{"class_name", "VarianceScaling"}, {"config", ConfigDict{{key, value}}}});
  };
  const auto numbers = [](const Initializer& initializer) {
    return initializer.make({3, 4}, "w", in_f64()).to_vector<double>();
  };
  EXPECT_EQ(numbers(scaling("distribution", "normal")), numbers(Initializer::variance_scaling({})));
  EXPECT_EQ(message_of([&] { scaling("distribution", "cauchy"); }),
            "[initializer] distribution \"cauchy\" is not supported");
  EXPECT_EQ(message_of([&] { scaling("mode", "normal"); }), "[initializer] mode \"normal\" is not supported");
}

TEST(LayerConfig, ActivationsHaveKerasNamesAndSurviveARoundTrip) {
  const std::vector<std::pair<Activation::Kind, const char*>> activations{
      {Activation::linear, "linear"},
      {Activation::relu, "relu"},
      {Activation::leaky_relu, "leaky_relu"},
      {Activation::elu, "elu"},
      {Activation::gelu, "gelu"},
      {Activation::silu, "swish"},
      {Activation::sigmoid, "sigmoid"},
      {Activation::tanh, "tanh"},
      {Activation::softmax, "softmax"},
      {Activation::log_softmax, "log_softmax"},
      {Activation::softplus, "softplus"},
      {Activation::softsign, "softsign"},
      {Activation::selu, "selu"},
      {Activation::exponential, "exponential"},
      {Activation::relu6, "relu6"},
      {Activation::hard_sigmoid, "hard_sigmoid"},
      {Activation::hard_silu, "hard_silu"},
      {Activation::mish, "mish"}};
  EXPECT_EQ(activations.size(), static_cast<std::size_t>(Activation::kLastKind) + 1);
  for (const auto& [kind, name] : activations) {
    EXPECT_EQ(to_json(Activation(kind).config())["activation"], name);
    const auto read = parse("Activation", cat(R"({"activation": ")", name, "\"}"));
    EXPECT_EQ(dynamic_cast<const Activation&>(*read).kind(), kind) << name;
  }
}

TEST(LayerConfig, ADerivedClassIsNotKnown) {
  struct Mine : Flatten {};
  EXPECT_FALSE(is_of_known_class(Mine()));
  EXPECT_TRUE(is_of_known_class(Flatten()));
  EXPECT_TRUE(is_of_known_class(Activation(Activation::relu)));
  EXPECT_TRUE(is_of_known_class(Sequential()));
  EXPECT_TRUE(is_of_known_class(Graph()));
}

TEST(LayerConfig, SequentialSurvivesARoundTripWithItsWeights) {
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

}  // namespace
}  // namespace ronde::test
