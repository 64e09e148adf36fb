// Masks of sequences: that they do what shorter sequences would, who hands them on, and who refuses them.
// What Keras makes of them is in keras_layers_test.cpp.
#include <ronde/core/ops.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/bidirectional.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/elu.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/lstm.h>
#include <ronde/nn/masking.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/simple_rnn.h>
#include <ronde/nn/softmax.h>
#include <ronde/nn/unit_normalization.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

Embedding words() {
  return Embedding({.input_dim = 9, .output_dim = 3, .mask_zero = true});
}

/// Words that fill one sequence of five.
constexpr std::int32_t kSentence[] = {4, 8, 1, 4, 2};

Tensor sentence(std::int64_t length, std::int64_t steps) {
  std::vector<std::int32_t> indices(kSentence, kSentence + length);
  indices.resize(static_cast<std::size_t>(steps));
  return Tensor::from<std::int32_t>({1, steps}, indices);
}

template <class Layer>
void expect_as_of_shorter_sequences(Layer layer) {
  Sequential net(words(), std::move(layer));
  net.build({5}, in_f64());
  for (const std::int64_t length : {1, 3, 5})
    expect_close(net(sentence(length, 5)).value(),
                 net(sentence(length, length)).value().template to_vector<double>(), 1e-13,
                 cat(length, " words"));
}

TEST(Masks, MakeOfFilledUpSequencesWhatShorterOnesGive) {
  expect_as_of_shorter_sequences(LSTM({.units = 4}));
  expect_as_of_shorter_sequences(GRU({.units = 4}));
  expect_as_of_shorter_sequences(SimpleRNN({.units = 4}));
  expect_as_of_shorter_sequences(LSTM({.units = 4, .recurrent_activation = Activation::hard_sigmoid}));
  expect_as_of_shorter_sequences(Bidirectional(LSTM({.units = 4})));
  expect_as_of_shorter_sequences(GlobalAveragePooling1D());
}

TEST(Masks, LeaveTheStateThatWasThereOrZeros) {
  for (const bool zeroes : {false, true}) {
    Sequential net(words(), GRU({.units = 2, .return_sequences = true, .zero_output_for_mask = zeroes}));
    net.build({5}, in_f64());
    const Tensor states = net(sentence(3, 5)).value();
    const auto step = [&](std::int64_t t) { return states.slice(1, t, t + 1).to_vector<double>(); };
    EXPECT_NE(step(2), step(1));
    for (const std::int64_t t : {3, 4}) EXPECT_EQ(step(t), zeroes ? std::vector<double>(2) : step(2)) << t;
  }
}

/// The state behind the last step, which is left out.
template <class Layer>
std::vector<double> last_state(Layer layer) {
  Sequential net(words(), std::move(layer));
  net.build({5}, in_f64());
  return net(sentence(3, 5)).value().template to_vector<double>();
}

TEST(Masks, MakeZerosOfALastStepThatTheyLeaveOut) {
  const RecurrentOptions options{.units = 2, .zero_output_for_mask = true};
  RecurrentOptions dropping = options;
  dropping.recurrent_dropout = 0.5;
  const std::vector<double> zeros(2);
  EXPECT_EQ(last_state(LSTM(options)), zeros);
  EXPECT_EQ(last_state(LSTM(dropping)), zeros);
  EXPECT_EQ(last_state(GRU(options)), zeros);
  EXPECT_EQ(last_state(SimpleRNN(options)), zeros);
  // Both layers of a Bidirectional without sequences give the state.
  EXPECT_NE(last_state(Bidirectional(LSTM(options), {.merge_mode = MergeMode::mul})), zeros);
}

TEST(Masks, OfMaskingAreOfStepsAllOfWhoseFeaturesHaveTheValue) {
  Masking layer(0.5);
  const Tensor x = Tensor::from<float>({2, 2, 2}, {0.5f, 0.5f, 0.5f, 1.0f, 2.0f, 0.5f, 0.5f, 0.5f});
  const Variable y = layer(x);
  EXPECT_EQ(y.mask().to_vector<float>(), (std::vector<float>{0, 1, 1, 0}));
  EXPECT_EQ(y.mask().shape(), (Shape{2, 2}));
  EXPECT_EQ(y.value().to_vector<float>(), (std::vector<float>{0, 0, 0.5f, 1.0f, 2.0f, 0.5f, 0, 0}));
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({2, 3}));
            }),
            "[masking] expects sequences (n, steps, features), got (2, 3)");
}

/// Of the result of a net that begins with `words`.
template <class... Layers>
bool has_mask(Layers... layers) {
  Sequential net(words(), std::move(layers)...);
  net.build({5});
  return net(sentence(3, 5)).mask().defined();
}

TEST(Masks, AreHandedOnStepByStep) {
  EXPECT_TRUE(has_mask());
  EXPECT_TRUE(has_mask(Dense({.units = 2}), ReLU(), Dropout(0.5), Activation(Activation::tanh)));
  EXPECT_TRUE(has_mask(LSTM({.units = 2, .return_sequences = true})));
  EXPECT_TRUE(has_mask(Bidirectional(LSTM({.units = 2, .return_sequences = true}))));
  EXPECT_TRUE(has_mask(BatchNormalization(), ReLU()));
  EXPECT_TRUE(has_mask(ELU(), PReLU(), UnitNormalization(), GroupNormalization({.groups = 3})));
  EXPECT_FALSE(has_mask(RMSNormalization()));
  EXPECT_FALSE(has_mask(LSTM({.units = 2})));
  EXPECT_FALSE(has_mask(Bidirectional(LSTM({.units = 2}))));
  EXPECT_FALSE(has_mask(GlobalAveragePooling1D()));
  EXPECT_FALSE(has_mask(Flatten()));
  Variable two = Tensor::zeros({1, 5, 2});
  two.set_mask(Tensor::zeros({1, 5}));
  EXPECT_TRUE(Concatenate()({two, two}).mask().shares_storage_with(two.mask()));
  EXPECT_TRUE(Add()({two, two}).mask().shares_storage_with(two.mask()));
  Sequential mixed(words(), Dense({.units = 2}));
  mixed.build({5}, {.compute_dtype = DType::bf16});
  EXPECT_TRUE(mixed(sentence(3, 5)).mask().defined());
}

/// A Graph of `words` and what `layers` make of their results.
template <class Layers>
std::string message_of_graph(const Layers& layers) {
  Graph net;
  const Symbol x = net.input("x");
  layers(net, net.add(words(), x));
  return message_of([&] { net.build({5}); });
}

// A run of layers would lose it.
TEST(Masks, PassLayersOfAGraphThatAreRunTogether) {
  Graph net;
  const Symbol x = net.add(Masking(), net.input("x"));
  net.output(net.add(GlobalAveragePooling1D(), net.add(ReLU(), net.add(BatchNormalization(), x))));
  net.build({3, 2}, in_f64());
  Tensor steps = random_tensor({2, 3, 2});
  steps.slice(1, 2, 3).fill(0.0);
  expect_close(net(steps).value(), net(steps.slice(1, 0, 2).contiguous()).value().to_vector<double>(), 1e-14,
               "without the step that is left out");
}

TEST(Masks, OfMergedInputsAreTheSame) {
  EXPECT_EQ(message_of_graph([](Graph& net, const Symbol& x) {
              net.output(net.add(Add(), {x, net.add(Dense({.units = 3}), x)}));
            }),
            "no error");
  EXPECT_EQ(message_of_graph([](Graph& net, const Symbol& x) {
              net.output(net.add(Concatenate(), {x, net.add(Reshape({.target_shape = {5, 3}}), x)}));
            }),
            "[concatenate] its inputs have masks of their own, or some have none: Keras 2 and 3 merge masks "
            "in different "
            "ways");
  EXPECT_EQ(
      message_of_graph([](Graph& net, const Symbol& x) {
        net.output({net.add(ReLU(), x), net.add(Flatten(), x)});
      }),
      "[functional] one of several outputs has a mask (Masking, or Embedding with mask_zero), which is not "
      "supported");
}

TEST(Masks, AreRefusedWhereTheyWouldChangeWhatComesOut) {
  const auto refused_by = [](const auto& call, const char* layer, const char* name) {
    EXPECT_EQ(message_of(call),
              cat("[", layer, "] its input has a mask (Masking, or Embedding with mask_zero), which ", name,
                  " does not support"));
  };
  const auto build = [](auto layer) {
    Sequential net(words(), std::move(layer));
    net.build({5});
  };
  refused_by([&] { build(Softmax()); }, "softmax", "Softmax");
  Sequential normalised(words(), BatchNormalization());
  normalised.build({5});
  refused_by([&] { normalised(sentence(3, 5), {.training = true}); }, "batch_normalization",
             "BatchNormalization");
  Variable x = Tensor::zeros({2, 4, 3});
  x.set_mask(Tensor::zeros({2, 4}));
  refused_by([&] { Concatenate(1)({x, x}); }, "concatenate", "Concatenate");
  x.set_mask(Tensor::zeros({2, 3}));
  EXPECT_EQ(message_of([&] { GlobalAveragePooling1D()(x); }),
            "[global_average_pooling1d] expects a mask of shape (2, 4) beside inputs of shape (2, 4, 3), got "
            "(2, 3)");
  EXPECT_EQ(message_of([&] {
              x.set_mask(Tensor::zeros({2, 4}, {.dtype = DType::f64}));
            }).substr(0, 33),
            "[set_mask] a mask is f32, got f64");
}

}  // namespace
}  // namespace ronde::test
