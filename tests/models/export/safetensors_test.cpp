#include <gtest/gtest.h>

#include <algorithm>

#include <ronde/core/sha256.h>
#include <ronde/models/safetensors.h>
#include <ronde/models/weights_npz.h>
#include <ronde/nn/conv2d_transpose.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/separable_conv2d.h>

#include "models/interop/random_net.h"
#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

/// A file with this header and these bytes behind it.
std::string file_of(const std::string& header, const std::string& data = "") {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(std::uint64_t{header.size()} >> (8 * i));
  return length + header + data;
}

// Of a recurrent layer PyTorch has other ones.
TEST(Safetensors, RecurrentLayersHaveWeightsOfKerasAlone) {
  Sequential net(LSTM({.units = 2, .name = "memory"}), Dense({.units = 1}));
  net.build({3, 4});
  EXPECT_EQ(message_of([&] { named_weights(net, WeightNames::torch); }),
            "[weights] memory: PyTorch has other weights for a recurrent layer, with two biases; "
            "use WeightNames::keras");
  NamedTensors weights = named_weights(net);
  weights.at("memory/bias").fill(0.25);
  weights.erase("dense/bias");
  const MatchedWeights matched = assign_matching_weights(net, weights);
  EXPECT_EQ(matched.kept, std::vector<std::string>{"dense/bias"});
  EXPECT_EQ(named_weights(net).at("memory/bias").to_vector<float>(), std::vector<float>(8, 0.25f));
}

TEST(Safetensors, WritesTheBytesOfTheDescription) {
  const Safetensors file{{{"x", Tensor::from<float>({1, 2}, {1, -2})}}, {{"format", "pt"}}};
  const std::string zeros(64, '0');
  std::string header = R"({"__metadata__":{"format":"pt","ronde_sha256":"ronde:)" + zeros +
                       R"("},"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected = file_of(header, std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8));
  expected.replace(expected.find(zeros), 64, sha256_hex(expected));
  EXPECT_EQ(encode_safetensors(file), expected);
}

TEST(Safetensors, EveryChangedByteIsRefusedAndFilesOfOthersNeedNoHash) {
  const Safetensors file{{{"x", Tensor::from<float>({1, 2}, {1, -2})}}, {}};
  const std::string bytes = encode_safetensors(file);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 4);
    EXPECT_THROW(decode_safetensors(other, "x"), InputError) << i;
  }
  const std::string plain =
      file_of(R"({"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", bytes.substr(bytes.size() - 8));
  EXPECT_EQ(decode_safetensors(plain, "x").tensors.at("x").to_vector<float>(), (std::vector<float>{1, -2}));
}

TEST(Safetensors, ReadsWhatItWrites) {
  const Safetensors file{{{"bytes", Tensor::from<std::uint8_t>({3}, {1, 2, 255})},
                          {"double", Tensor::from<double>({2, 1}, {0.1, -3})},
                          {"empty", Tensor::zeros({0, 4})},
                          {"half", Tensor::from<float>({2}, {1.5f, -2}).to(DType::bf16)},
                          {"int", Tensor::from<std::int32_t>({1}, {-7})},
                          {"long", Tensor::from<std::int64_t>({}, {1ll << 40})}},
                         {{"made by", "a test"}}};
  const Safetensors read = decode_safetensors(encode_safetensors(file), "x");
  EXPECT_EQ(read.metadata, file.metadata);
  ASSERT_EQ(read.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_EQ(read.tensors.at(name).dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.tensors.at(name).shape(), tensor.shape()) << name;
    EXPECT_EQ(read.tensors.at(name).to_vector<double>(), tensor.to_vector<double>()) << name;
  }
}

TEST(Safetensors, ReadsHalfPrecisionAsFloats) {
  // 1, -2, 65504 (the largest), 2^-24 (the smallest), infinity
  const std::string data("\x00\x3c\x00\xc0\xff\x7b\x01\x00\x00\x7c", 10);
  const auto file =
      decode_safetensors(file_of(R"({"x":{"dtype":"F16","shape":[5],"data_offsets":[0,10]}})", data), "x");
  EXPECT_EQ(
      file.tensors.at("x").to_vector<float>(),
      (std::vector<float>{1, -2, 65504, std::ldexp(1.0f, -24), std::numeric_limits<float>::infinity()}));
}

TEST(Safetensors, RefusesHostileFiles) {
  const auto entry = [](const std::string& type, const std::string& shape, const std::string& offsets) {
    return R"({"x":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  const std::string eight(8, 'x');
  const std::vector<std::string> files{
      "",
      "1234567",
      std::string(8, '\0'),
      std::string(8, '\xff') + "{}",
      file_of("{}").substr(0, 9),
      file_of("[]"),
      file_of("{"),
      file_of(" {}"),
      file_of("{}", "x"),                                      // bytes of nobody
      file_of(entry("F32", "[2]", "[0,8]"), eight.substr(1)),  // too short
      file_of(entry("F32", "[2]", "[0,8]"), eight + "x"),      // too long
      file_of(entry("F32", "[3]", "[0,8]"), eight),            // another size
      file_of(entry("F32", "[-2]", "[0,8]"), eight),
      file_of(entry("F32", "[2]", "[8,0]"), eight),
      file_of(entry("F32", "[2]", "[0,8,8]"), eight),
      file_of(entry("F32", "[4611686018427387905,4]", "[0,16]"), eight + eight),  // overflows to 16
      file_of(entry("F32", "[0,4611686018427387904,8]", "[0,0]"), ""),
      file_of(entry("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), eight),
      file_of(entry("C64", "[1]", "[0,8]"), eight),
      file_of(R"({"x":{"dtype":"F32","shape":[2]}})", eight),
      file_of(R"({"x":5})", eight),
      file_of(
          R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
          eight),
      file_of(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
          eight),
      file_of(R"({"__metadata__":{"a":1}})"),
      file_of("{\"x\":" + std::string(100000, '[') + "}"),
  };
  for (const std::string& file : files) {
    const std::string message = message_of<InputError>([&] { decode_safetensors(file, "bad.safetensors"); });
    EXPECT_EQ(message.find("bad.safetensors: "), 0u) << file.substr(0, 200) << "\n" << message;
  }
}

/// Every weight is another number.
Model counted_model(std::unique_ptr<Module> net, const Shape& input) {
  Model model(std::move(net), input);
  float next = 1;
  for (Parameter& weight : model.module().parameters()) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < weight.variable.value().count(); ++i) values.push_back(next++);
    weight.variable.assign(Tensor::from<float>(weight.variable.shape(), values));
  }
  return model;
}

std::unique_ptr<Sequential> image_net() {
  return std::make_unique<Sequential>(Conv2D({.filters = 3, .kernel = {2, 1}}),
                                      DepthwiseConv2D({.kernel = {1, 2}, .depth_multiplier = 2}), Flatten(),
                                      BatchNormalization(), Dense({.units = 2}), Dense({.units = 4}));
}

TEST(NamedWeights, HavePyTorchsNamesAndLayouts) {
  Model model = counted_model(image_net(), {3, 4, 2});
  const NamedTensors keras = named_weights(model.module());
  const NamedTensors torch = named_weights(model.module(), WeightNames::torch);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : torch) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"batch_normalization.bias", "batch_normalization.running_mean",
                                             "batch_normalization.running_var", "batch_normalization.weight",
                                             "conv2d.bias", "conv2d.weight", "dense.bias", "dense.weight",
                                             "dense_1.bias", "dense_1.weight", "depthwise_conv2d.bias",
                                             "depthwise_conv2d.weight"}));
  const auto at = [](const Tensor& tensor, std::initializer_list<std::int64_t> index) {
    Tensor part = tensor;
    int axis = 0;
    for (const std::int64_t i : index) {
      part = part.slice(axis, i, i + 1);
      ++axis;
    }
    return part.item();
  };
  EXPECT_EQ(torch.at("conv2d.weight").shape(), (Shape{3, 2, 2, 1}));
  EXPECT_EQ(at(torch.at("conv2d.weight"), {2, 1, 0, 0}), at(keras.at("conv2d/kernel"), {0, 0, 1, 2}));
  const Tensor& depthwise = torch.at("depthwise_conv2d.weight");
  EXPECT_EQ(depthwise.shape(), (Shape{6, 1, 1, 2}));
  EXPECT_EQ(at(depthwise, {3, 0, 0, 1}), at(keras.at("depthwise_conv2d/depthwise_kernel"), {0, 1, 1, 1}));
  EXPECT_EQ(at(torch.at("dense_1.weight"), {3, 1}), at(keras.at("dense_1/kernel"), {1, 3}));

  // The flattened image is (h, w, c) = (2, 3, 6): pixel (1, 2) of channel 4.
  const std::int64_t here = (1 * 3 + 2) * 6 + 4, in_torch = (4 * 2 + 1) * 3 + 2;
  EXPECT_EQ(at(torch.at("dense.weight"), {1, in_torch}), at(keras.at("dense/kernel"), {here, 1}));
  EXPECT_EQ(at(torch.at("batch_normalization.running_mean"), {in_torch}),
            at(keras.at("batch_normalization/moving_mean"), {here}));
}

TEST(NamedWeights, ASeparableConvolutionIsAModuleOfTwoInPyTorch) {
  Model model = counted_model(
      std::make_unique<Sequential>(SeparableConv2D({.filters = 5, .kernel = {1, 2}, .depth_multiplier = 2}),
                                   SeparableConv2D({.filters = 1, .use_bias = false, .name = "end"})),
      {4, 5, 3});
  NamedTensors torch = named_weights(model.module(), WeightNames::torch);
  const std::map<std::string, Shape> expected{{"separable_conv2d.depthwise.weight", {6, 1, 1, 2}},
                                              {"separable_conv2d.pointwise.weight", {5, 6, 1, 1}},
                                              {"separable_conv2d.pointwise.bias", {5}},
                                              {"end.depthwise.weight", {5, 1, 3, 3}},
                                              {"end.pointwise.weight", {1, 5, 1, 1}}};
  ASSERT_EQ(torch.size(), expected.size());
  for (const auto& [name, shape] : expected) EXPECT_EQ(torch.at(name).shape(), shape) << name;
  const std::string before = model.weights_sha256();
  model.arena().values().fill(0.0);
  assign_named_weights(model.module(), torch);
  EXPECT_EQ(model.weights_sha256(), before);
}

TEST(NamedWeights, ATransposedConvolutionHasItsInputsFirstInPyTorch) {
  Model model = counted_model(
      std::make_unique<Sequential>(Conv2DTranspose({.filters = 5, .kernel = {4, 2}, .name = "up"})),
      {2, 2, 3});
  const Tensor keras = named_weights(model.module()).at("up/kernel");
  const Tensor torch = named_weights(model.module(), WeightNames::torch).at("up.weight");
  EXPECT_EQ(keras.shape(), (Shape{4, 2, 5, 3}));
  EXPECT_EQ(torch.to_vector<float>(), keras.permute({3, 2, 0, 1}).to_vector<float>());
}

TEST(NamedWeights, OfEitherFlavourMakeTheSameNet) {
  const TempDir dir;
  Model model = counted_model(image_net(), {3, 4, 2});
  write_safetensors(dir / "torch.safetensors", model.module(), WeightNames::torch);
  EXPECT_EQ(read_safetensors(dir / "torch.safetensors").metadata.at("format"), "pt");
  model.save_weights(dir / "net.safetensors");
  model.save_weights(dir / "net.npz");
  for (const char* name : {"torch.safetensors", "net.safetensors", "net.npz"}) {
    Model other(image_net(), {3, 4, 2}, {.seed = 9});
    EXPECT_NE(other.weights_sha256(), model.weights_sha256());
    other.load_weights(dir / name);
    EXPECT_EQ(other.weights_sha256(), model.weights_sha256()) << name;
  }
}

// Paths of layers in nets within nets, each as long as people call them.
TEST(NamedWeights, HaveNamesOfAnyLength) {
  const TempDir dir;
  const auto net = [] {
    return std::make_unique<Sequential>(Dense({.units = 2, .name = std::string(300, 'n')}));
  };
  Model model(net(), {3});
  for (const char* name : {"net.npz", "net.safetensors"}) {
    model.save_weights(dir / name);
    Model other(net(), {3}, {.seed = 9});
    other.load_weights(dir / name);
    EXPECT_EQ(other.weights_sha256(), model.weights_sha256()) << name;
  }
}

TEST(NamedWeights, AreComparedBeforeAnythingIsAssigned) {
  Model model = counted_model(image_net(), {3, 4, 2});
  const std::string before = model.weights_sha256();
  const auto complaint = [&](auto&& change) {
    NamedTensors weights = named_weights(model.module(), WeightNames::torch);
    for (auto& [name, tensor] : weights) tensor.fill(0.0);
    change(weights);
    return message_of<InputError>([&] { assign_named_weights(model.module(), weights); });
  };
  EXPECT_EQ(complaint([](NamedTensors& w) { w.erase("dense.bias"); }),
            "there is no weight dense.bias, which this net has");
  EXPECT_EQ(complaint([](NamedTensors& w) { w["more"] = Tensor::zeros({1}); }),
            "there is a weight more, which this net has not");
  EXPECT_EQ(complaint([](NamedTensors& w) { w["dense.bias"] = Tensor::zeros({3}); }),
            "weight dense.bias is (3,), this net has (2,)");
  EXPECT_EQ(complaint([](NamedTensors& w) { w["dense.bias"] = Tensor::zeros({2}, {.dtype = DType::i32}); }),
            "weight dense.bias is of type i32");
  EXPECT_EQ(model.weights_sha256(), before);
  EXPECT_EQ(complaint([](NamedTensors& w) {
              w["batch_normalization.num_batches_tracked"] = Tensor::from<std::int64_t>({}, {5});
            }),
            "no error");
}

/// An encoder, which a larger net has as a part.
struct Encoder : Module {
  Conv2D conv{{.filters = 2}};
  Dense code{{.units = 3}};
  Encoder() { add_module("conv", conv), add_module("code", code); }
  Variable forward(const Variable& x, const Context& context) override {
    return code(reshape(conv(x, context), {x.size(0), -1}), context);
  }
};
struct Classifier : Module {
  Encoder encoder;
  Dense head{{.units = 5}};
  Classifier() { add_module("encoder", encoder), add_module("head", head); }
  Variable forward(const Variable& x, const Context& context) override {
    return head(encoder(x, context), context);
  }
};

std::vector<double> values_of(const NamedTensors& weights, const std::string& name) {
  return weights.at(name).to_vector<double>();
}

TEST(NamedWeights, OfAPartFitThatPartAlone) {
  Encoder alone;
  alone.build({4, 4, 1}, {.seed = 1});
  for (const WeightNames names : {WeightNames::keras, WeightNames::torch}) {
    Classifier net;
    net.build({4, 4, 1}, {.seed = 2});
    const std::vector<double> head = values_of(named_weights(net), "head/kernel");
    assign_named_weights(net.encoder, named_weights(alone, names));
    EXPECT_EQ(values_of(named_weights(net), "encoder/code/kernel"),
              values_of(named_weights(alone), "code/kernel"));
    EXPECT_EQ(values_of(named_weights(net.encoder), "conv/kernel"),
              values_of(named_weights(alone), "conv/kernel"));
    EXPECT_EQ(values_of(named_weights(net), "head/kernel"), head);
  }
}

TEST(NamedWeights, ThoseThatMatchAreTakenAndTheOthersNamed) {
  using Names = std::vector<std::string>;
  Classifier net;
  net.build({4, 4, 1}, {.seed = 2});
  const NamedTensors before = named_weights(net);
  NamedTensors weights{{"encoder/conv/bias", Tensor::full({2}, 0.25)},
                       {"encoder/conv/kernel", Tensor::full({3, 3, 1, 2}, 0.5, {.dtype = DType::f64})},
                       {"encoder/code/kernel", Tensor::full({3, 3}, 1.0)},
                       {"encoder/code/bias", Tensor::zeros({3}, {.dtype = DType::i32})},
                       {"old_head/kernel", Tensor::zeros({3, 9})},
                       {"x.num_batches_tracked", Tensor::zeros({})}};
  const MatchedWeights matched = assign_matching_weights(net, weights);
  EXPECT_EQ(matched.assigned, (Names{"encoder/conv/bias", "encoder/conv/kernel"}));
  EXPECT_EQ(matched.kept, (Names{"encoder/code/bias", "encoder/code/kernel", "head/bias", "head/kernel"}));
  EXPECT_EQ(matched.unused, (Names{"encoder/code/bias", "encoder/code/kernel", "old_head/kernel"}));
  const NamedTensors after = named_weights(net);
  EXPECT_EQ(values_of(after, "encoder/conv/bias"), (std::vector<double>{0.25, 0.25}));
  EXPECT_EQ(values_of(after, "encoder/conv/kernel"), std::vector<double>(18, 0.5));
  for (const std::string& name : matched.kept)
    EXPECT_EQ(values_of(after, name), values_of(before, name)) << name;
}

TEST(NamedWeights, OfATableAreItsRows) {
  Sequential net(Embedding({.input_dim = 5, .output_dim = 3}), Flatten());
  net.build({2});
  const NamedTensors keras = named_weights(net), torch = named_weights(net, WeightNames::torch);
  EXPECT_EQ(torch.at("embedding.weight").shape(), (Shape{5, 3}));
  EXPECT_EQ(torch.at("embedding.weight").to_vector<float>(),
            keras.at("embedding/embeddings").to_vector<float>());
}

TEST(NamedWeights, ExplainWhereTheOrderForPyTorchIsUnknown) {
  Graph net;
  const Symbol x = net.input();
  const Symbol flat = net.add(Flatten(), x);
  net.output(net.add(Concatenate(), {flat, net.add(Dense({.units = 2}), flat)}));
  net.build({2, 2, 2});
  EXPECT_NO_THROW(named_weights(net));
  const std::string message = message_of<Error>([&] { named_weights(net, WeightNames::torch); });
  EXPECT_NE(message.find("layer concatenate joins the pixels of a flattened image"), std::string::npos)
      << message;
}

TEST(NamedWeights, OfALayerNormalizationAreThoseOfPyTorch) {
  Sequential net{LayerNormalization(), Flatten(), LayerNormalization()};
  net.build({2, 3, 2});
  const Tensor gamma = net.parameters().at(2).variable.value();  // (h, w, c)
  gamma.copy_from(Tensor::from<float>({12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const NamedTensors weights = named_weights(net, WeightNames::torch);
  EXPECT_EQ(weights.at("layer_normalization.weight").shape(), Shape{2});
  EXPECT_EQ(weights.at("layer_normalization_1.weight").to_vector<float>(),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  EXPECT_TRUE(weights.contains("layer_normalization_1.bias"));
  Sequential of_images(LayerNormalization({.axes = {1, 2, 3}}));
  of_images.build({2, 3, 2});
  EXPECT_NO_THROW(named_weights(of_images));
  EXPECT_THROW(named_weights(of_images, WeightNames::torch), Error);
}

TEST(NamedWeights, OfAReshapedImageAreThoseOfAFlattenedOne) {
  const auto net_with = [](std::unique_ptr<Module> layer) {
    auto net = std::make_unique<Sequential>(Conv2D({.filters = 2, .kernel = {1, 1}}));
    net->add(std::move(layer));
    net->add(Dense({.units = 3}));
    net->build({2, 3, 1});
    return net;
  };
  const auto kernel = [&](std::unique_ptr<Module> layer) {
    return named_weights(*net_with(std::move(layer)), WeightNames::torch)
        .at("dense.weight")
        .to_vector<float>();
  };
  const auto reshape = [](const Shape& target) {
    return std::make_unique<Reshape>(ReshapeOptions{.target_shape = target});
  };
  EXPECT_EQ(kernel(reshape({-1})), kernel(std::make_unique<Flatten>()));
  const auto pairs = net_with(reshape({6, 2}));
  EXPECT_NO_THROW(named_weights(*pairs));
  EXPECT_EQ(message_of<Error>([&] { named_weights(*pairs, WeightNames::torch); }),
            "[weights] layer reshape makes (6, 2) of (2, 3, 2), for which PyTorch has another order");
  EXPECT_EQ(message_of<Error>([&] {
              named_weights(*net_with(std::make_unique<Permute>(Shape{3, 1, 2})), WeightNames::torch);
            }),
            "[weights] layer permute makes (2, 2, 3) of (2, 3, 2), for which PyTorch has another order");
  Sequential images(Dense({.units = 12}), Reshape({.target_shape = {2, 3, 2}}));
  images.build({4});
  EXPECT_THROW(named_weights(images, WeightNames::torch), Error);
  Sequential pixels(Dense({.units = 2}), Reshape({.target_shape = {1, 1, 2}}), Flatten());
  pixels.build({4});
  EXPECT_NO_THROW(named_weights(pixels, WeightNames::torch));
}

}  // namespace
}  // namespace ronde::test
