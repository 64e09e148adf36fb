// Layers of sequences in ONNX files.
#include <gtest/gtest.h>

#include <ronde/models/file_io.h>
#include <ronde/nn/attention.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv1d.h>
#include <ronde/nn/dot.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/repeat_vector.h>
#include <ronde/nn/separable_conv1d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/time_distributed.h>

#include "models/export/onnx_reader.h"
#include "models/testing.h"

namespace ronde::test {
namespace {

TEST(OnnxSequences, PermutedImagesHaveTheirChannelsLastFirst) {
  EXPECT_EQ(operators_of(std::make_unique<Sequential>(MaxPooling2D(), Permute({3, 1, 2})), {4, 4, 3}),
            (std::vector<std::string>{"Transpose", "MaxPool", "Transpose", "Transpose"}));
  EXPECT_EQ(operators_of(std::make_unique<Sequential>(RepeatVector(3)), {4}),
            (std::vector<std::string>{"Unsqueeze", "Expand"}));
}

TEST(OnnxSequences, SeparableConvolutionsOfSequencesAreTwoOfTheirAxis) {
  auto net = std::make_unique<Sequential>(
      DepthwiseConv1D({.kernel = 2, .activation = Activation::relu}),
      SeparableConv1D({.filters = 2, .padding = Padding1D::causal, .depth_multiplier = 2}));
  EXPECT_EQ(operators_of(std::move(net), {6, 3}),
            (std::vector<std::string>{"Transpose", "Conv", "Relu", "Conv", "Conv", "Transpose"}));
}

TEST(OnnxSequences, ADotIsAProductAlongItsAxes) {
  const auto operators_of_dot = [](const Shape& shape, const DotOptions& options) {
    Graph net;
    const Symbol x = net.input();
    net.output(net.add(Dot(options), {x, x}));
    net.build(shape);
    return operators(encode_onnx(net));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(operators_of_dot({3, 4}, {.axes = {2}}), Names{"Einsum"});
  EXPECT_EQ(operators_of_dot({4}, {.axes = {-1}, .normalize = true}),
            (Names{"ReduceL2", "Max", "Div", "ReduceL2", "Max", "Div", "Einsum", "Unsqueeze"}));
}

TEST(OnnxSequences, AttentionsWithoutHeadsAreSpelledOut) {
  const auto operators_of_layer = [](auto layer) {
    Graph net;
    const Symbol x = net.input();
    net.output(net.add(std::move(layer), {x, x}));
    net.build({4, 3});
    return operators(encode_onnx(net));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(operators_of_layer(Attention()), (Names{"Einsum", "Softmax", "Einsum"}));
  EXPECT_EQ(operators_of_layer(Attention({.use_scale = true, .use_causal_mask = true})),
            (Names{"Einsum", "Mul", "Add", "Softmax", "Einsum"}));
  EXPECT_EQ(operators_of_layer(Attention({.use_scale = true, .score_mode = ScoreMode::concat})),
            (Names{"Mul", "Mul", "Unsqueeze", "Unsqueeze", "Add", "Tanh", "ReduceSum", "Mul", "Softmax",
                   "Einsum"}));
  EXPECT_EQ(operators_of_layer(AdditiveAttention()),
            (Names{"Unsqueeze", "Unsqueeze", "Add", "Tanh", "Einsum", "Softmax", "Einsum"}));
  EXPECT_EQ(operators_of_layer(AdditiveAttention({.use_scale = false})),
            (Names{"Unsqueeze", "Unsqueeze", "Add", "Tanh", "ReduceSum", "Softmax", "Einsum"}));
}

/// Of layers of sequences, with several inputs too.
std::unique_ptr<Graph> sequences() {
  auto net = std::make_unique<Graph>();
  const Symbol steps = net->input("steps", {6, 4}), memory = net->input("memory", {5, 3});
  Symbol x = net->add(
      SeparableConv1D({.filters = 4, .kernel = 3, .padding = Padding1D::same, .depth_multiplier = 2}), steps);
  x = net->add(DepthwiseConv1D({.kernel = 2, .activation = Activation::tanh}), x);
  const Symbol values = net->add(Dense({.units = 4}), memory);
  Symbol y = net->add(Attention({.use_scale = true, .use_causal_mask = true}), {x, values});
  y = net->add(Attention({.use_scale = true, .score_mode = ScoreMode::concat}), {y, x});
  y = net->add(AdditiveAttention(), {y, memory, values});
  y = net->add(AdditiveAttention({.use_scale = false}),
               {y, net->add(Permute({2, 1}), net->add(Dense({.units = 5}), memory)), memory});
  const Symbol same = net->add(RepeatVector(5), net->add(GlobalAveragePooling1D(), y));
  const Symbol products = net->add(Dot({.axes = {2, -1}, .normalize = true}), {y, same});
  const Symbol a = net->add(Flatten(), net->add(Dot({.axes = {1}}), {products, memory}));
  const Symbol b = net->add(Dense({.units = 15}), a);
  net->output(net->add(Concatenate(), {b, net->add(Dot({.axes = {1}, .normalize = true}), {a, b})}));
  net->build(joined_shape(net->input_parts()));
  return net;
}

// This file passed onnx.checker and gave the predictions to 1e-6 in onnxruntime 1.32.0.
TEST(OnnxSequences, AreWrittenAsWhenOnnxruntimeWasAsked) {
  EXPECT_TRUE(encode_onnx(*sequences()) == read_file(golden("onnx/sequences.onnx")));
}

/// Of layers for each step: a net of images, and one layer.
Sequential distributed() {
  Sequential net(TimeDistributed(Sequential(Conv2D({.filters = 3, .kernel = {2, 2}}), Flatten(),
                                            Dense({.units = 4, .activation = Activation::tanh}))),
                 TimeDistributed(Dense({.units = 2})));
  net.build({3, 4, 4, 2}, {.seed = 5});
  return net;
}

// And so this one.
TEST(OnnxSequences, StepsAreSamplesAsWhenOnnxruntimeWasAsked) {
  EXPECT_TRUE(encode_onnx(distributed()) == read_file(golden("onnx/time_distributed.onnx")));
}

}  // namespace
}  // namespace ronde::test
