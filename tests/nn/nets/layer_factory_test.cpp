#include <ronde/nn/layer_factory.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

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
  // Without its default, and an axis alone.
  EXPECT_EQ(to_json(parse("ELU", R"({"name": "e"})")->config())["alpha"], 1.0);
  EXPECT_EQ(to_json(parse("PReLU", R"({"shared_axes": 1})")->config())["shared_axes"],
            ordered_json::parse("[1]"));
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
  EXPECT_EQ(message("Conv2DTranspose", R"({"filters": 2, "strides": [2, 1], "output_padding": [1, 1]})"),
            "[conv2d_transpose] output_padding must be from 0 up to below the strides, 2 x 1, got 1 x 1");
  EXPECT_EQ(
      message("Conv2DTranspose", R"({"filters": 2, "strides": 2, "dilation_rate": [2, 1]})"),
      "[conv2d_transpose] strides of 2 x 2 do not go with a dilation of 2 x 1: one of them must be 1 x 1");
  EXPECT_EQ(message("UpSampling2D", R"({"name": "u", "interpolation": "bicubic"})"),
            "[UpSampling2D \"u\"] interpolation: \"bicubic\" is not supported, only \"nearest\" and "
            "\"bilinear\"");
  EXPECT_EQ(message("UpSampling2D", R"({"size": [2, 0]})"),
            "[up_sampling2d] size must be in 1 ... 2147483647, got 2 x 0");
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
  EXPECT_EQ(message("GroupNormalization", R"({"groups": 0})"),
            "[group_normalization] groups must be positive, or -1 for one of each channel, got 0");
  EXPECT_EQ(message("RMSNormalization", R"({"axis": [1, 2]})"),
            "[RMSNormalization] axis: expected one axis, found 2");
  EXPECT_EQ(message("UnitNormalization", R"({"axis": []})"),
            "[unit_normalization] needs an axis to normalise over, got 0");
  EXPECT_EQ(message("ReLU", R"({"threshold": 0.5})"), "[ReLU] threshold: 0.5 is not supported, only 0");
  EXPECT_EQ(message("Concatenate", R"({"axis": 0})"), "[Concatenate] axis: 0 is not supported");
  EXPECT_EQ(message("Conv1D", R"({"name": "c", "filters": 2, "padding": "full"})"),
            "[Conv1D \"c\"] padding: \"full\" is not supported, only valid, same and causal");
  EXPECT_EQ(message("Conv1D", R"({"filters": 2, "kernel_size": [3, 3]})"),
            "[Conv1D] kernel_size: expected one integer, found 2");
  EXPECT_EQ(message("SeparableConv1D", R"({"name": "c", "filters": 2, "padding": "full"})"),
            "[SeparableConv1D \"c\"] padding: \"full\" is not supported, only valid, same and causal");
  EXPECT_THROW(parse("DepthwiseConv1D", R"({"padding": "causal"})"), InputError);
  EXPECT_EQ(message("DepthwiseConv1D", R"({"lora_rank": 4})"),
            "[DepthwiseConv1D] lora_rank: is not supported");
  EXPECT_EQ(message("MaxPooling1D", R"({"pool_size": 0})"),
            "[max_pooling1d] pool must be in 1 ... 2147483647, got 0");
  EXPECT_EQ(message("ConvLSTM2D", "{}"),
            "layer class \"ConvLSTM2D\" is not supported; known are Activation, Add, "
            "AdditiveAttention, "
            "Attention, "
            "Average, "
            "AveragePooling1D, AveragePooling2D, BatchNormalization, Bidirectional, Concatenate, Conv1D, "
            "Conv1DTranspose, Conv2D, Conv2DTranspose, Cropping1D, Cropping2D, CustomScaleLayer, Dense, "
            "DepthwiseConv1D, DepthwiseConv2D, Dot, Dropout, ELU, Embedding, Flatten, Functional, GRU, "
            "GaussianDropout, "
            "GaussianNoise, GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalMaxPooling1D, "
            "GlobalMaxPooling2D, GroupNormalization, "
            "LSTM, LayerNormalization, LayerScale, LeakyReLU, Masking, MaxPooling1D, "
            "MaxPooling2D, Maximum, Minimum, MultiHeadAttention, Multiply, Normalization, "
            "PReLU, Permute, RMSNormalization, RandomBrightness, RandomContrast, RandomFlip, RandomRotation, "
            "RandomTranslation, RandomZoom, ReLU, RepeatVector, Rescaling, Reshape, SeparableConv1D, "
            "SeparableConv2D, Sequential, SimpleRNN, Softmax, SpatialDropout1D, SpatialDropout2D, "
            "StochasticDepth, Subtract, TimeDistributed, UnitNormalization, UpSampling1D, UpSampling2D, "
            "ZeroPadding1D, "
            "ZeroPadding2D");
  EXPECT_EQ(message("Lambda", R"({"name": "memory"})").substr(0, 48),
            "layer \"memory\": class \"Lambda\" is not supported;");
  EXPECT_EQ(message("Permute", R"({"dims": [1, 2, 3, 4, 5, 6, 7, 8]})"),
            "[Permute] dims: at most 7 extents are supported, found 8");
  EXPECT_EQ(message("Dense", R"({"name": "d", "units": 2, "dtype": {"class_name": "QuantizedDTypePolicy",
                                "config": {"mode": "int8", "source_name": "float32"}}})"),
            "[Dense \"d\"] dtype: QuantizedDTypePolicy: a quantized layer is not supported");
  EXPECT_EQ(message("Dropout", R"({"noise_shape": [8, 1]})"),
            "[Dropout] noise_shape: expected null for the batch and at most 7 extents, found 2 entries, the "
            "first not null");
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

// Keras writes the last axis by its number, too. Another one has weights or outputs of the same shape where
// extents are equal, so that only the axis tells.
TEST(LayerFactory, AxesAreThoseOfTheInputs) {
  for (const char* layer :
       {"BatchNormalization", "GroupNormalization", "Normalization", "RMSNormalization", "Softmax"}) {
    const auto built = [&](const char* axis, const Shape& shape) {
      return message_of(
          [&] { parse(layer, cat(R"({"name": "x", "groups": 2, "axis": )", axis, "}"))->build(shape); });
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

}  // namespace
}  // namespace ronde::test
