// What Keras makes of it is in layers/keras_layers_test.cpp.
#include <set>

#include <ronde/core/ops.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/lstm.h>
#include <ronde/nn/masking.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/time_distributed.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(TimeDistributed, CallsItsLayerForEachStep) {
  TimeDistributed net(Sequential(Conv2D({.filters = 3, .kernel = {2, 2}, .activation = Activation::tanh}),
                                 MaxPooling2D(), Flatten()));
  net.build({4, 5, 3, 2}, in_f64());
  randomize(net);
  const Tensor x = random_tensor({2, 4, 5, 3, 2}, 3);
  const Variable y = net(x);
  EXPECT_EQ(y.shape(), (Shape{2, 4, 6}));
  EXPECT_EQ(net.parameters().front().name, "layer/conv2d/kernel");
  Sequential alone(Conv2D({.filters = 3, .kernel = {2, 2}, .activation = Activation::tanh}), MaxPooling2D(),
                   Flatten());
  alone.build({5, 3, 2}, in_f64());
  randomize(alone);
  for (const std::int64_t step : {0, 1, 2, 3})
    expect_close(slice(y, 1, step, step + 1).value(),
                 alone(reshape(slice(x, 1, step, step + 1), {2, 5, 3, 2})).value().to_vector<double>(), 1e-14,
                 cat("step ", step));
  expect_module_gradients(net, x);
}

/// Of samples, all in epoch 2.
Context training_of(const std::vector<std::int64_t>& samples) {
  std::vector<std::int64_t> pairs;
  for (const std::int64_t sample : samples) pairs.insert(pairs.end(), {sample, 2});
  return {.training = true,
          .seed = 7,
          .sample_keys = Tensor::from<std::int64_t>({std::ssize(samples), 2}, pairs, &backend("cpu"))};
}

TEST(TimeDistributed, DropsOthersInEachStep) {
  TimeDistributed layer(Dropout(0.5));
  layer.build({5, 40}, in_f64());
  const Tensor ones = Tensor::full({2, 5, 40}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  const Variable y = layer(ones, training_of({11, 4}));
  std::set<std::vector<double>> masks;
  for (std::int64_t row = 0; row < 10; ++row)
    masks.insert(y.value().reshape({10, 40}).slice(0, row, row + 1).contiguous().to_vector<double>());
  EXPECT_EQ(masks.size(), 10);
  // Steps of steps too.
  TimeDistributed nested(std::make_unique<TimeDistributed>(Dropout(0.5)));
  nested.build({2, 5, 40}, in_f64());
  const Tensor of_steps = ones.reshape({1, 2, 5, 40});
  for (std::int64_t row = 0; row < 10; ++row)
    masks.insert(nested(of_steps, training_of({70}))
                     .value()
                     .reshape({10, 40})
                     .slice(0, row, row + 1)
                     .contiguous()
                     .to_vector<double>());
  EXPECT_EQ(masks.size(), 20);
  // A sample's are its own, in any batch.
  const Tensor one = Tensor::full({1, 5, 40}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  EXPECT_EQ(layer(one, training_of({4})).value().to_vector<double>(),
            y.value().slice(0, 1, 2).contiguous().to_vector<double>());
  EXPECT_EQ(layer(ones).value().to_vector<double>(), ones.to_vector<double>());
}

TEST(TimeDistributed, DropsWhatTheLayerDropsOfAsManySamples) {
  TimeDistributed layer(LSTM({.units = 3, .dropout = 0.5, .recurrent_dropout = 0.5}));
  layer.build({2, 4, 3}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({3, 2, 4, 3}, 5);
  const Context context = training_of({1, 8, 2});
  Module& inner = *layer.children().front();
  const Context of_steps = training_of({2, 3, 16, 17, 4, 5});
  expect_close(layer(x, context).value(), inner(x.reshape({6, 4, 3}), of_steps).value().to_vector<double>(),
               1e-14, "as one batch");
  expect_module_gradients(layer, x, context);
}

TEST(TimeDistributed, HandsOnTheMaskOfTheSequence) {
  Sequential net(Masking(), TimeDistributed(Dense({.units = 2})));
  net.build({3, 2}, in_f64());
  const Tensor x = f64_tensor({1, 3, 2}, {1, 2, 0, 0, 3, 0});
  EXPECT_EQ(net(x).mask().to_vector<float>(), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(net(x).mask().shape(), (Shape{1, 3}));
  EXPECT_EQ(message_of([&] {
              Variable wrong(x);
              wrong.set_mask(Tensor::zeros({1, 2}));
              dynamic_cast<Module&> (*net.layers().back())(wrong);
            }),
            "[time_distributed] expects a mask (1, 3, ...) beside inputs of shape (1, 3, 2), got (1, 2)");
}

// Texts of two sentences of three words.
TEST(TimeDistributed, GivesTheMaskOfEachStepToItsLayer) {
  Sequential net(Embedding({.input_dim = 9, .output_dim = 2, .mask_zero = true}),
                 TimeDistributed(LSTM({.units = 4})));
  net.build({2, 3}, in_f64());
  const Variable y = net(Tensor::from<std::int32_t>({1, 2, 3}, {5, 2, 0, 7, 0, 0}));
  const auto sentence = [&](const std::vector<std::int32_t>& words) {
    const Tensor alone = Tensor::from<std::int32_t>({1, 1, std::ssize(words)}, words);
    return net(alone).value().to_vector<double>();
  };
  expect_close(slice(y, 1, 0, 1).value(), sentence({5, 2}), 1e-14, "two words");
  expect_close(slice(y, 1, 1, 2).value(), sentence({7}), 1e-14, "one word");
  const Tensor texts = Tensor::from<std::int32_t>({2, 2, 3}, {5, 2, 0, 0, 0, 0, 0, 0, 1, 7, 0, 0});
  EXPECT_EQ(net(texts).mask().to_vector<float>(), (std::vector<float>{1, 0, 1, 1}));
  EXPECT_EQ(net(texts).mask().shape(), (Shape{2, 2}));
  Sequential words(Embedding({.input_dim = 9, .output_dim = 2, .mask_zero = true}),
                   TimeDistributed(LSTM({.units = 4, .return_sequences = true})));
  words.build({2, 3}, in_f64());
  EXPECT_EQ(words(texts).mask().shape(), (Shape{2, 2, 3}));
}

TEST(TimeDistributed, RefusesWhatItCannotDo) {
  TimeDistributed layer(Dense({.units = 2}));
  EXPECT_EQ(message_of([&] { layer.build({4}); }),
            "[time_distributed] expects inputs (n, steps, ...) of at least 3 axes, got (1, 4)");
  TimeDistributed masking(Masking(1.0));
  EXPECT_EQ(
      message_of([&] {
        masking.build({4, 3, 2});
      }),
      "[time_distributed] its layer gives a mask of its own (Masking, or Embedding with mask_zero), which "
      "Keras 2 and 3 hand on in different ways: not supported");
  Sequential normalised(Masking(0.0), TimeDistributed(BatchNormalization({.momentum = 0.9})));
  normalised.build({3, 2});
  EXPECT_NE(message_of([&] {
              normalised(Tensor::zeros({2, 3, 2}), {.training = true});
            }).find("[time_distributed/layer] its input has a mask"),
            std::string::npos);
}

TEST(TimeDistributed, IsDescribedWithItsLayer) {
  const auto layer = parse("TimeDistributed", R"({"name": "t", "layer": {"class_name": "Dense", "config":
      {"units": 2, "kernel_constraint": "NonNeg"}}})");
  const ordered_json config = to_json(layer->config());
  EXPECT_EQ(config["layer"]["module"], "keras.layers");
  EXPECT_EQ(config["layer"]["class_name"], "Dense");
  EXPECT_EQ(config["layer"]["config"]["units"], 2);
  EXPECT_EQ(left_out_of_training(*layer), std::vector<std::string>{"kernel_constraint of layer"});
  EXPECT_EQ(to_json(layer_from_config("TimeDistributed", layer->config())->config()), config);
  EXPECT_EQ(message_of([] { parse("TimeDistributed", R"({"name": "t"})"); }),
            "[TimeDistributed \"t\"] layer: missing");
  TimeDistributed nested(std::make_unique<TimeDistributed>(Sequential(Flatten())));
  const ordered_json net = to_json(nested.config())["layer"]["config"]["layer"];
  EXPECT_EQ(net["module"], "keras");
  EXPECT_EQ(net["class_name"], "Sequential");
  const auto frozen =
      parse("TimeDistributed", R"({"trainable": false, "layer": {"class_name": "Dense", "config":
      {"units": 2}}})");
  frozen->build({3, 4});
  EXPECT_EQ(frozen->parameter_count(true), 0);
  EXPECT_EQ(frozen->parameter_count(), 10);
}

}  // namespace
}  // namespace ronde::test
