// Configs of recurrent layers, there and back, and what is refused.
#include <memory>

#include <ronde/nn/bidirectional.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/lstm.h>
#include <ronde/nn/simple_rnn.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

constexpr const char* kInitializers =
    R"("kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
       "recurrent_initializer": {"class_name": "Orthogonal", "config": {"gain": 1.0, "seed": null}},
       "bias_initializer": {"class_name": "Zeros", "config": {}})";

TEST(Recurrent, ConfigsHaveTheKeysOfEachKeras) {
  expect_config(LSTM({.units = 3}), cat(R"({"name": "lstm", "trainable": true, "dtype": "float32",
      "return_sequences": false, "go_backwards": false, "units": 3, "activation": "tanh",
      "recurrent_activation": "sigmoid", "use_bias": true, )",
                                        kInitializers, R"(, "dropout": 0.0, "recurrent_dropout": 0.0,
      "unit_forget_bias": true})"));
  expect_config(GRU({.units = 2,
                     .activation = Activation::relu,
                     .recurrent_activation = Activation::softsign,
                     .use_bias = false,
                     .recurrent_regularizer = Regularizer::l2(0.5),
                     .dropout = 0.25,
                     .recurrent_dropout = 0.5,
                     .return_sequences = true,
                     .go_backwards = true,
                     .reset_after = false,
                     .name = "g"}),
                cat(R"({"name": "g", "trainable": true, "dtype": "float32",
      "return_sequences": true, "go_backwards": true, "units": 2, "activation": "relu",
      "recurrent_activation": "softsign", "use_bias": false, )",
                    kInitializers, R"(, "recurrent_regularizer": {"class_name": "L2", "config": {"l2": 0.5}},
      "dropout": 0.25, "recurrent_dropout": 0.5, "reset_after": false})"));
  expect_config(SimpleRNN({.units = 4}),
                cat(R"({"name": "simple_rnn", "trainable": true, "dtype": "float32",
      "return_sequences": false, "go_backwards": false, "units": 4, "activation": "tanh", "use_bias": true, )",
                    kInitializers, R"(, "dropout": 0.0, "recurrent_dropout": 0.0})"));
}

TEST(Recurrent, ReadsWhatChangesNothingAndRefusesTheRest) {
  EXPECT_EQ(unknown_options("LSTM", from_json(ordered_json::parse(R"({"units": 2, "implementation": 1,
      "unroll": true, "use_cudnn": "auto", "zero_output_for_mask": true, "time_major": false, "stateful": false,
      "return_state": false, "seed": 3})"))),
            std::vector<std::string>());
  // Older files have no reset_after, and null for no activation.
  EXPECT_EQ(to_json(parse("GRU", R"({"units": 2})")->config())["reset_after"], true);
  EXPECT_EQ(to_json(parse("GRU", R"({"units": 2})")->config())["recurrent_activation"], "sigmoid");
  EXPECT_EQ(
      to_json(
          parse("GRU", R"({"units": 2, "recurrent_activation": null})")->config())["recurrent_activation"],
      "linear");
  const auto message = [](const std::string& class_name, const std::string& json) {
    EXPECT_THROW(parse(class_name, json), InputError);
    return message_of([&] { parse(class_name, json); });
  };
  for (const char* key : {"return_state", "stateful", "time_major"})
    EXPECT_EQ(message("LSTM", cat(R"({"name": "l", "units": 2, ")", key, R"(": true})")),
              cat("[LSTM \"l\"] ", key, ": true is not supported"));
  EXPECT_EQ(message("SimpleRNN", R"({"name": "s"})"), "[SimpleRNN \"s\"] units: missing");
  EXPECT_EQ(message("GRU", R"({"units": 2, "recurrent_activation": "mine"})"),
            "[GRU] recurrent_activation: \"mine\" is not supported");
  EXPECT_EQ(message("Bidirectional", R"({"name": "b"})"), "[Bidirectional \"b\"] layer: missing");
  const std::string inner = R"("layer": {"class_name": "GRU", "config": {"units": 2}})";
  EXPECT_EQ(message("Bidirectional", cat("{", inner, R"(, "merge_mode": null})")),
            "[Bidirectional] merge_mode: null, for two outputs, is not supported");
  EXPECT_EQ(message("Bidirectional", cat("{", inner, R"(, "merge_mode": "max"})")),
            "[Bidirectional] merge_mode: \"max\" is not supported");
  EXPECT_EQ(message("Bidirectional", R"({"layer": {"class_name": "Dense", "config": {"units": 2}}})"),
            "[Bidirectional] layer: a Dense is not an LSTM, a GRU or a SimpleRNN");
}

TEST(Bidirectional, ConfigDescribesASecondLayerOnlyIfItIsAnother) {
  const std::string inner =
      R"("return_sequences": false, "go_backwards": false, "units": 2, "activation": "tanh",
      "use_bias": true, )" +
      std::string(kInitializers) + R"(, "dropout": 0.0, "recurrent_dropout": 0.0)";
  const std::string first = R"({"name": "b", "trainable": true, "dtype": "float32", "layer":
      {"module": "keras.layers", "class_name": "SimpleRNN", "config": {"name": "forward_layer", "trainable": true, "dtype": "float32", )" +
                            inner + "}}";
  expect_config(Bidirectional(SimpleRNN({.units = 2}), {.name = "b"}),
                first + R"(, "merge_mode": "concat"})");
  const auto other = parse("Bidirectional", first + R"(, "backward_layer": {"class_name": "GRU", "config":
      {"name": "own", "units": 3, "go_backwards": true, "kernel_constraint": "NonNeg"}}})");
  const ordered_json config = to_json(other->config());
  EXPECT_EQ(config["backward_layer"]["class_name"], "GRU");
  EXPECT_EQ(config["backward_layer"]["config"]["name"], "backward_layer");
  EXPECT_EQ(left_out_of_training(*other), std::vector<std::string>{"kernel_constraint of backward_layer"});
  EXPECT_EQ(layer_from_config("Bidirectional", other->config())->config().size(), other->config().size());
}

TEST(Bidirectional, IsFrozenWithItsLayers) {
  const auto trained = [](const std::string& json) {
    const auto layer = parse("Bidirectional", json);
    layer->build({2, 3});
    return layer->parameter_count(true);
  };
  EXPECT_EQ(trained(R"({"layer": {"class_name": "SimpleRNN", "config": {"units": 1}}})"), 10);
  EXPECT_EQ(trained(R"({"trainable": false, "layer": {"class_name": "SimpleRNN", "config": {"units": 1}}})"),
            0);
  EXPECT_EQ(trained(R"({"layer": {"class_name": "SimpleRNN", "config": {"units": 1, "trainable": false}}})"),
            0);
}

TEST(Bidirectional, RefusesLayersThatDoNotFit) {
  const auto message = [](const RecurrentOptions& back, MergeMode mode) {
    return message_of([&] {
      Bidirectional(std::make_unique<LSTM>(RecurrentOptions{.units = 2}), std::make_unique<GRU>(back),
                    {.merge_mode = mode});
    });
  };
  const std::string refusal =
      "[bidirectional] needs a layer that goes backwards and one that does not, with the same "
      "return_sequences "
      "and, but for concat, units";
  EXPECT_EQ(message({.units = 2}, MergeMode::sum), refusal);
  EXPECT_EQ(message({.units = 2, .return_sequences = true, .go_backwards = true}, MergeMode::sum), refusal);
  EXPECT_EQ(message({.units = 3, .go_backwards = true}, MergeMode::sum), refusal);
  EXPECT_EQ(message({.units = 3, .go_backwards = true}, MergeMode::concat), "no error");
}

}  // namespace
}  // namespace ronde::test
