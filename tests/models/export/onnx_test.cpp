#include <gtest/gtest.h>

#include <map>

#include <ronde/models/export_onnx.h>
#include <ronde/models/file_io.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv2d_transpose.h>
#include <ronde/nn/elu.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/layer_scale.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/training_only.h>
#include <ronde/nn/unit_normalization.h>

#include "files/protobuf.h"
#include "models/export/onnx_reader.h"
#include "models/interop/random_net.h"
#include "models/testing.h"
#include "support/gradient_check.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

// The examples of the description of Protocol Buffers.
TEST(Protobuf, WritesEachKindOfField) {
  ProtobufWriter inner;
  inner.integer(1, 150);
  EXPECT_EQ(inner.bytes(), "\x08\x96\x01");
  ProtobufWriter outer;
  outer.message(3, inner);
  outer.text(2, "testing");
  outer.real(5, 1.0f);
  EXPECT_EQ(outer.bytes(), std::string("\x1a\x03\x08\x96\x01\x12\x07testing\x2d\x00\x00\x80\x3f", 19));
  ProtobufWriter negative;
  negative.integer(16, -1);
  EXPECT_EQ(negative.bytes(), "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(Onnx, PutsTransposesOnlyWhereImagesBeginAndEnd) {
  const std::vector<std::string> expected{"Transpose", "Conv",    "Relu", "MaxPool",
                                          "Transpose", "Flatten", "Gemm", "Softmax"};
  EXPECT_EQ(operators_of(small_net(), {6, 6, 1}), expected);
}

TEST(Onnx, NeedsNoTransposeForVectors) {
  auto net = std::make_unique<Sequential>(Dense({.units = 3, .use_bias = false}), BatchNormalization());
  EXPECT_EQ(operators_of(std::move(net), {4}), (std::vector<std::string>{"MatMul", "BatchNormalization"}));
}

// The operators' default numbers are Keras' (ONNX operators, opset 13).
TEST(Onnx, ActivationsThatHaveAnOperatorAreThat) {
  Sequential net;
  for (const Activation::Kind kind : {Activation::softplus, Activation::softsign, Activation::selu,
                                      Activation::exponential, Activation::tanh})
    net.add(Activation(kind));
  net.build({4});
  EXPECT_EQ(operators(encode_onnx(net)),
            (std::vector<std::string>{"Softplus", "Softsign", "Selu", "Exp", "Tanh"}));
}

TEST(Onnx, ASoftmaxIsOneAsALayerToo) {
  EXPECT_EQ(operators_of(std::make_unique<Sequential>(Softmax()), {4}), std::vector<std::string>{"Softmax"});
}

TEST(Onnx, OtherActivationsAreMadeOfOperators) {
  const std::pair<Activation::Kind, std::vector<std::string>> cases[] = {
      {Activation::relu6, {"Relu", "Min"}},
      {Activation::hard_sigmoid, {"HardSigmoid"}},
      {Activation::hard_silu, {"HardSigmoid", "Mul"}},
      {Activation::mish, {"Softplus", "Tanh", "Mul"}}};
  for (const auto& [kind, expected] : cases)
    EXPECT_EQ(operators_of(std::make_unique<Sequential>(Activation(kind)), {4}), expected);
}

TEST(Onnx, ExportsANetThatDoesNothing) {
  EXPECT_EQ(operators_of(std::make_unique<Sequential>(Dropout(0.5)), {4}),
            std::vector<std::string>{"Identity"});
}

TEST(Onnx, ImagesComeOutAsTheyWentIn) {
  auto net = std::make_unique<Sequential>(Conv2D({.filters = 2, .padding = Padding::same}));
  EXPECT_EQ(operators_of(std::move(net), {4, 4, 1}),
            (std::vector<std::string>{"Transpose", "Conv", "Transpose"}));
}

TEST(Onnx, PooledAxesStayWhereTheyAreKept) {
  auto net = std::make_unique<Sequential>(GlobalAveragePooling2D({.keepdims = true}),
                                          GlobalMaxPooling2D({.keepdims = true}));
  EXPECT_EQ(operators_of(std::move(net), {4, 4, 3}),
            (std::vector<std::string>{"Transpose", "GlobalAveragePool", "GlobalMaxPool", "Transpose"}));
}

TEST(Onnx, ReshapedImagesHaveTheirChannelsLast) {
  auto net = std::make_unique<Sequential>(MaxPooling2D(), Reshape({.target_shape = {-1, 3}}),
                                          Dense({.units = 2, .use_bias = false}));
  EXPECT_EQ(operators_of(std::move(net), {4, 4, 3}),
            (std::vector<std::string>{"Transpose", "MaxPool", "Transpose", "Reshape", "MatMul"}));
}

TEST(Onnx, NormalizationsAreSpelledOut) {
  const std::vector<std::string> norm{"ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div"};
  EXPECT_EQ(operators_of(std::make_unique<Sequential>(Normalization()), {4}),
            (std::vector<std::string>{"Sub", "Div"}));
  EXPECT_EQ(operators_of(std::make_unique<Sequential>(Normalization({.invert = true})), {4}),
            (std::vector<std::string>{"Mul", "Add"}));
  EXPECT_EQ(operators_of(std::make_unique<Sequential>(Rescaling({.scale = {2.0}})), {4}),
            (std::vector<std::string>{"Mul", "Add"}));
  EXPECT_EQ(
      operators_of(std::make_unique<Sequential>(LayerNormalization({.center = false, .scale = false})), {4}),
      norm);
}

TEST(Onnx, NormalizationsOfGroupsAndLengthsAreSpelledOut) {
  const auto of = [](auto layer) {
    return operators_of(std::make_unique<Sequential>(std::move(layer)), {3, 4});
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(of(GroupNormalization({.groups = 2})),
            (Names{"Transpose", "Reshape", "InstanceNormalization", "Reshape", "Mul", "Add", "Transpose"}));
  EXPECT_EQ(of(GroupNormalization({.groups = 2, .center = false, .scale = false})),
            (Names{"Transpose", "Reshape", "InstanceNormalization", "Reshape", "Transpose"}));
  EXPECT_EQ(of(RMSNormalization()), (Names{"Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul"}));
  EXPECT_EQ(of(UnitNormalization()), (Names{"ReduceL2", "Max", "Div"}));
  EXPECT_EQ(of(ELU()), Names{"Elu"});
  EXPECT_EQ(of(PReLU()), Names{"PRelu"});
}

// These files passed onnx.checker and gave the predictions to 1e-6 in onnxruntime 1.32.0.
TEST(Onnx, NormalizationsAndSlopesAreWrittenAsWhenOnnxruntimeWasAsked) {
  Sequential images(Conv2D({.filters = 6, .kernel = {2, 2}}), PReLU({.shared_axes = {1, 2}}),
                    GroupNormalization({.groups = 2}), ELU(0.5), PReLU(),
                    GroupNormalization({.groups = -1, .epsilon = 0.1, .scale = false}), RMSNormalization(),
                    PReLU({.shared_axes = {1, 3}}), UnitNormalization({.axes = {1, -1}}), Flatten(), PReLU(),
                    GroupNormalization({.groups = 4, .center = false}), UnitNormalization(),
                    RMSNormalization({.epsilon = 0.1}));
  Sequential series(Conv1D({.filters = 4, .kernel = 2}), GroupNormalization({.groups = 2}), PReLU(),
                    RMSNormalization(), UnitNormalization({.axes = {2}}));
  for (const auto& [net, input, name] :
       {std::tuple{&images, Shape{5, 4, 3}, "image_norms"}, {&series, Shape{5, 3}, "series_norms"}}) {
    net->build(input);
    for (Parameter& weight : net->parameters())
      weight.variable.assign(random_tensor(weight.variable.shape(), 5).to(DType::f32));
    EXPECT_TRUE(encode_onnx(*net) == read_file(golden(cat("onnx/", name, ".onnx")))) << name;
  }
}

TEST(Onnx, WhatOnlyTrainingDoesIsLeftAway) {
  auto net = std::make_unique<Sequential>();
  net->add(std::make_unique<TrainingOnly>("RandomFlip", ConfigDict{{"mode", "horizontal"}}));
  net->add(Conv2D({.filters = 2}));
  EXPECT_EQ(operators_of(std::move(net), {4, 4, 3}),
            operators_of(std::make_unique<Sequential>(Conv2D({.filters = 2})), {4, 4, 3}));
}

TEST(Onnx, OfAScaledSumTheSecondInputIsScaled) {
  Graph net;
  const Symbol x = net.input(), y = net.add(Activation(Activation::relu), x);
  net.output(net.add(CustomScaleLayer(0.25), {x, y}));
  net.build({4});
  const std::string bytes = encode_onnx(net, {.input = "x"});
  const std::vector<Node> all = nodes(bytes);
  ASSERT_EQ(operators(bytes), (std::vector<std::string>{"Relu", "Mul", "Add"}));
  EXPECT_EQ(all[1].inputs.at(0), all[0].output);
  EXPECT_EQ(constant(bytes, all[1].inputs.at(1)), std::vector<float>{0.25f});
  EXPECT_EQ(all[2].inputs, (std::vector<std::string>{"x", all[1].output}));
}

TEST(Onnx, JoinsOfTwoAreOperatorsOfTwoInTheirOrder) {
  const auto expect_operator = [](auto layer, const std::string& op) {
    Graph net;
    const Symbol x = net.input(), y = net.add(Activation(Activation::relu), x);
    net.output(net.add(layer, {y, x}));
    net.build({4});
    const std::vector<Node> all = nodes(encode_onnx(net, {.input = "x"}));
    ASSERT_EQ(all.size(), 2u) << op;
    EXPECT_EQ(all[1].op, op);
    EXPECT_EQ(all[1].inputs, (std::vector<std::string>{all[0].output, "x"})) << op;
  };
  expect_operator(Add(), "Add");
  expect_operator(Subtract(), "Sub");
  expect_operator(Multiply(), "Mul");
  expect_operator(Maximum(), "Max");
  expect_operator(Minimum(), "Min");
}

TEST(Onnx, ALayerScaleIsAProductWithItsGamma) {
  Sequential net{LayerScale()};
  net.build({3});
  const std::vector<float> gamma{0.5f, -2.0f, 0.75f};
  net.parameters().front().variable.assign(Tensor::from<float>({3}, gamma));
  const std::string bytes = encode_onnx(net);
  ASSERT_EQ(operators(bytes), std::vector<std::string>{"Mul"});
  EXPECT_EQ(constant(bytes, nodes(bytes).front().inputs.at(1)), gamma);
}

// This file passed onnx.checker and gave the predictions to 1e-6 in onnxruntime 1.32.0.
TEST(Onnx, AttentionIsWrittenAsWhenOnnxruntimeWasAsked) {
  Graph net;
  const Symbol x = net.input("x", {6, 4}), memory = net.input("memory", {5, 3});
  Symbol y =
      net.add(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .value_dim = 5, .use_causal_mask = true}), x);
  y = net.add(MultiHeadAttention({.num_heads = 3, .key_dim = 2, .use_bias = false}), {y, memory});
  y = net.add(y.layer(), {y, memory});  // once more
  net.output(
      net.add(MultiHeadAttention({.num_heads = 1, .key_dim = 4, .output_shape = {2, 3}}), {memory, x, y}));
  net.build(joined_shape(net.input_parts()));
  const std::string bytes = encode_onnx(net);
  std::map<std::string, int> times;
  for (const std::string& op : operators(bytes)) ++times[op];
  EXPECT_EQ(times, (std::map<std::string, int>{{"Add", 9}, {"Einsum", 24}, {"Softmax", 4}}));
  EXPECT_TRUE(bytes == read_file(golden("onnx/attention.onnx")));
}

// This file passed onnx.checker and gave the predictions to 1e-6 in onnxruntime 1.32.0.
TEST(Onnx, TransposedConvolutionsAreWrittenAsWhenOnnxruntimeWasAsked) {
  const Padding same = Padding::same;
  Sequential net(
      Conv2DTranspose({.filters = 2, .strides = {2, 3}, .padding = same, .output_padding = Size2d{1, 0}}),
      Conv2DTranspose({.filters = 3, .kernel = {2, 4}, .strides = {3, 2}, .output_padding = Size2d{0, 1}}),
      Conv2DTranspose({.filters = 2, .padding = same, .output_padding = Size2d{0, 0}, .dilation = {1, 2}}),
      Conv2DTranspose({.filters = 2, .kernel = {2, 3}, .dilation = {3, 2}}));
  net.build({3, 4, 2});
  const std::string bytes = encode_onnx(net);
  EXPECT_EQ(operators(bytes), (std::vector<std::string>{"Transpose", "ConvTranspose", "ConvTranspose",
                                                        "ConvTranspose", "ConvTranspose", "Transpose"}));
  EXPECT_TRUE(bytes == read_file(golden("onnx/transposed.onnx")));
}

/// Each of these files passed onnx.checker and gave Ronde's predictions to 1e-5 in onnxruntime.
class OnnxGolden : public ::testing::TestWithParam<int> {};

TEST_P(OnnxGolden, IsWrittenAsWhenOnnxruntimeWasAsked) {
  const std::string expected = read_file(golden(cat("onnx/", GetParam(), ".onnx")));
  const std::string bytes = encode_onnx(fresh_model(static_cast<std::uint64_t>(GetParam())).module());
  EXPECT_EQ(operators(bytes), operators(expected));
  EXPECT_TRUE(bytes == expected);
}

INSTANTIATE_TEST_SUITE_P(Nets, OnnxGolden, ::testing::Range(0, 30));
INSTANTIATE_TEST_SUITE_P(Recurrent, OnnxGolden, ::testing::Values(36, 41, 43));
INSTANTIATE_TEST_SUITE_P(Series, OnnxGolden, ::testing::Range(44, 48));

TEST(Onnx, RecurrentLayersAreOperators) {
  const auto of = [](std::unique_ptr<Module> layer) {
    layer->build({3, 2});
    return operators(encode_onnx(*layer));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(of(std::make_unique<LSTM>(RecurrentOptions{.units = 2})),
            (Names{"Transpose", "LSTM", "Squeeze"}));
  EXPECT_EQ(
      of(std::make_unique<GRU>(RecurrentOptions{.units = 2, .return_sequences = true, .go_backwards = true})),
      (Names{"Transpose", "GRU", "Squeeze", "Transpose", "Gather"}));
  EXPECT_EQ(of(std::make_unique<Bidirectional>(SimpleRNN({.units = 2}))),
            (Names{"Transpose", "RNN", "Squeeze", "Transpose", "RNN", "Squeeze", "Concat"}));
  EXPECT_EQ(message_of([&] {
              of(std::make_unique<LSTM>(RecurrentOptions{.units = 1, .activation = Activation::gelu}));
            }),
            "[onnx] layer lstm has activation gelu, which cannot be exported of a recurrent layer");
}

/// Two inputs; the third output is the second behind a dropout, the last the picture's features.
std::unique_ptr<Graph> several() {
  auto net = std::make_unique<Graph>();
  const Symbol picture = net->input("picture", {4, 4, 1}), vector = net->input("vector", {2});
  const Symbol features = net->add(Conv2D({.filters = 2, .name = "features"}), picture);
  const Symbol seen = net->add(Concatenate(), {net->add(Flatten(), features), vector});
  const Symbol a = net->add(Dense({.units = 3, .name = "a"}), seen),
               b = net->add(Dense({.units = 1, .name = "b"}), a);
  net->output({a, b, net->add(Dropout(0.5), b), features});
  net->build(joined_shape(net->input_parts()));
  return net;
}

// What onnxruntime computes of such files is compared by the test of files (interop).
TEST(Onnx, HasSeveralInputsAndOutputsByTheirNames) {
  const std::string file = encode_onnx(*several());
  const std::string graph = Reader{file}.fields(7).at(0);
  const auto names_of = [&](std::uint64_t field) {
    std::vector<std::string> names;
    for (const std::string& port : Reader{graph}.fields(field)) names.push_back(Reader{port}.fields(1).at(0));
    return names;
  };
  EXPECT_EQ(names_of(11), (std::vector<std::string>{"picture", "vector"}));
  EXPECT_EQ(names_of(12), (std::vector<std::string>{"a", "b", "dropout", "features"}));
  std::map<std::string, Node> by_output;
  for (const Node& node : nodes(file)) by_output[node.output] = node;
  EXPECT_EQ(by_output.at("dropout").op, "Identity");
  EXPECT_EQ(by_output.at("dropout").inputs, std::vector<std::string>{"b"});
  EXPECT_EQ(by_output.at("b").inputs.front(), "a");
  EXPECT_EQ(by_output.at("features").op, "Transpose");
}

TEST(Onnx, OneNetOfSeveralPartsIsNoLayer) {
  Sequential net;
  net.add(several()).set_name("inner");
  net.add(Dense({.units = 1}));
  net.build({18});
  const std::string message = message_of<Error>([&] { encode_onnx(net); });
  EXPECT_NE(message.find("[onnx] inner is a Functional, which cannot be exported"), std::string::npos)
      << message;
}

struct OwnForward : Module {
  Dense dense{{.units = 2}};
  OwnForward() { add_module("dense", dense); }
  Variable forward(const Variable& x, const Context& context) override { return dense(x, context); }
};

TEST(Onnx, NamesWhatItCannotExportAndWhatItCan) {
  Sequential net{Dense({.units = 3})};
  net.add(std::make_unique<OwnForward>()).set_name("mine");
  net.build({4});
  const std::string message = message_of<Error>([&] { encode_onnx(net); });
  EXPECT_NE(message.find("[onnx] mine is a Model, which cannot be exported"), std::string::npos) << message;
  EXPECT_NE(message.find("Cropping2D, CustomScaleLayer, Dense"), std::string::npos) << message;
}

TEST(Onnx, NeedsABuiltNetAndTwoNames) {
  const Sequential net{Dense({.units = 3})};
  EXPECT_THROW(encode_onnx(net), Error);
  Model model = small_model();
  EXPECT_EQ(message_of<UsageError>([&] { encode_onnx(model.module(), {.input = "x", .output = "x"}); }),
            "[onnx] two of the inputs and outputs are called \"x\"");
}

TEST(Onnx, AFileIsReplacedWhole) {
  const TempDir dir;
  Model model = small_model();
  write_onnx(dir / "net.onnx", model.module());
  EXPECT_EQ(read_file(dir / "net.onnx"), encode_onnx(model.module()));
}

}  // namespace
}  // namespace ronde::test
