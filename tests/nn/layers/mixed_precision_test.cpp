// Nets that compute in bf16 with weights in f32.
#include <cmath>
#include <utility>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/attention.h>
#include <ronde/nn/average_pooling1d.h>
#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/batch_normalization.h>
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
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling1d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/layer_scale.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/max_pooling1d.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/repeat_vector.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/separable_conv1d.h>
#include <ronde/nn/separable_conv2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/softmax.h>
#include <ronde/nn/time_distributed.h>
#include <ronde/nn/unit_normalization.h>
#include <ronde/nn/up_sampling1d.h>
#include <ronde/nn/up_sampling2d.h>
#include <ronde/nn/zero_padding1d.h>
#include <ronde/nn/zero_padding2d.h>

#include "nn/self_attention.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

constexpr BuildOptions kMixed{.seed = 1, .compute_dtype = DType::bf16};

Sequential image_net() {
  return Sequential(Conv2D({.filters = 16, .activation = Activation::relu}),
                    Conv2D({.filters = 16, .activation = Activation::relu}), MaxPooling2D(), Dropout(0.25),
                    BatchNormalization(), Flatten(), Dense({.units = 3, .activation = Activation::softmax}));
}

Tensor images() {
  return random_tensor({5, 8, 8, 1}, 1).to(DType::f32).to(default_backend());
}

std::vector<double> values(const Variable& x) {
  return x.value().to_vector<double>();
}

// What `net` makes of x in training, and its layers one after the other.
std::pair<std::vector<double>, std::vector<double>> in_one_go_and_in_turn(Sequential net, const Tensor& x) {
  net.build({8, 8, 1}, kMixed);
  const Context context{
      .training = true, .seed = 3, .sample_keys = Tensor::zeros({x.size(0), 2}, {.dtype = DType::i64})};
  Variable y = x;
  for (Module* layer : net.layers()) y = (*layer)(y, context);
  return {values(net(x, context)), values(y)};
}

TEST(MixedPrecision, ComputesInBf16WithWeightsInF32) {
  Sequential net = image_net();
  net.build({8, 8, 1}, kMixed);
  for (const Parameter& parameter : net.parameters()) EXPECT_EQ(parameter.variable.dtype(), DType::f32);
  const Variable y = net(images());
  EXPECT_EQ(y.dtype(), DType::bf16);
  sum(cast(y * y, DType::f32)).backward();
  for (const Parameter& parameter : net.parameters()) {
    if (!parameter.variable.requires_grad()) continue;
    EXPECT_EQ(parameter.variable.grad().dtype(), DType::f32);
  }
}

TEST(MixedPrecision, EachLayerRoundsItsResult) {
  Sequential net(Dense({.units = 6, .activation = Activation::relu}), Dense({.units = 2}));
  net.build({7}, kMixed);
  const std::vector<Parameter> weights = net.parameters();
  const auto layer = [&](const Tensor& x, std::size_t kernel) {
    const Tensor rounded = weights[kernel].variable.value().to(DType::bf16).to(DType::f64);
    return dense(x.to(DType::f64), rounded, weights[kernel + 1].variable.value().to(DType::f64));
  };
  const Tensor x = random_tensor({4, 7}, 2).to(DType::f32).to(default_backend());
  const Tensor hidden = relu(layer(x.to(DType::bf16), 0)).value().to(DType::bf16);
  const std::vector<double> got = values(net(x)), want = values(layer(hidden, 2));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 0x1.02p-8 * std::abs(want[i]));
}

TEST(MixedPrecision, LayersInOneGoAreLayersInTurn) {
  const auto [got, want] = in_one_go_and_in_turn(
      Sequential(Conv2D({.filters = 16, .activation = Activation::relu}), MaxPooling2D(), Dropout(0.25),
                 BatchNormalization(), Flatten(), Dense({.units = 3, .activation = Activation::softmax})),
      images());
  EXPECT_EQ(got, want);
}

// Kernels that make two on floats do not round between them.
TEST(MixedPrecision, ConvolutionsInOneGoAreThoseInTurnButForRounding) {
  const auto [got, want] = in_one_go_and_in_turn(image_net(), images());
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 0.03 * want[i] + 1e-3) << i;
}

TEST(MixedPrecision, EmbeddingGetsItsIndicesAsTheyAre) {
  Sequential net(Embedding({.input_dim = 1000, .output_dim = 2}));
  net.build({1}, kMixed);
  const Tensor index = Tensor::from<double>({1, 1}, {517}).to(DType::f32);  // 516 or 520 in bf16
  const Tensor row = net.parameters()[0].variable.value().slice(0, 517, 518);
  const Variable y = net(index);
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(values(y), row.to(DType::bf16).to_vector<double>());
}

/// A user's own net: it gets its input as it is, and each layer casts what it takes.
struct Residual : Module {
  Dense dense{{.units = 3}};
  Add add;
  DType input_dtype{};
  Residual() {
    add_module("dense", dense);
    add_module("add", add);
  }
  Variable forward(const Variable& x, const Context& context) override {
    input_dtype = x.dtype();
    return add({dense(x, context), x}, context);
  }
};

TEST(MixedPrecision, LayersCastWhatTheyTake) {
  Residual net;
  net.build({3}, kMixed);
  const Tensor x = random_tensor({2, 3}, 4).to(DType::f32).to(default_backend());
  EXPECT_EQ(values(net(x)), values(net.dense(x) + x.to(DType::bf16)));
  EXPECT_EQ(net.input_dtype, DType::f32);
}

/// Close to what the layer makes of the same numbers in f32, in bf16, and so the gradient of its input.
template <class Layer>
void expect_near_single(Layer (*make)(), const Shape& shape = {6, 6, 4}) {
  Layer mixed = make(), single = make();
  SCOPED_TRACE(mixed.class_name());
  mixed.build(shape, kMixed);
  single.build(shape, {.seed = 1});
  const Tensor rounded = random_tensor(shape.batch_of(2), 6).to(DType::bf16).to(default_backend());
  const auto run = [](Module& layer, const Tensor& x) {
    const Variable input = Variable::parameter(x);
    const Variable y =
        layer(input, {.training = true, .sample_keys = Tensor::zeros({2, 2}, {.dtype = DType::i64})});
    sum(cast(y, DType::f32) * 0.5).backward();
    return std::pair(y, input.grad());
  };
  const auto [y, grad] = run(mixed, rounded.to(DType::f32));
  const auto [expected, expected_grad] = run(single, rounded.to(DType::f32));
  EXPECT_EQ(y.dtype(), DType::bf16);
  const auto near = [](const Tensor& got, const Tensor& want) {
    const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 0.02 * (1 + std::abs(b[i]))) << i;
  };
  near(y.value(), expected.value());
  near(grad, expected_grad);
}

TEST(MixedPrecision, EveryLayerTakesPart) {
  expect_near_single(+[] { return Activation(Activation::gelu); });
  expect_near_single(+[] { return Activation(Activation::hard_silu); });
  expect_near_single(+[] { return Activation(Activation::mish); });
  expect_near_single(+[] { return AveragePooling2D(); });
  expect_near_single(+[] { return BatchNormalization(); });
  expect_near_single(+[] {
    return Conv2D({.filters = 3, .strides = {2, 2}, .activation = Activation::tanh});
  });
  expect_near_single(+[] {
    return Conv2DTranspose({.filters = 3, .strides = {2, 2}, .activation = Activation::tanh});
  });
  expect_near_single(+[] { return Cropping2D(1); });
  expect_near_single(+[] { return DepthwiseConv2D({.activation = Activation::relu}); });
  expect_near_single(+[] { return Dense({.units = 3, .activation = Activation::silu}); });
  expect_near_single(+[] { return Dropout(0.5); });
  expect_near_single(+[] { return ELU(0.5); });
  expect_near_single(+[] { return Flatten(); });
  expect_near_single(+[] { return GlobalAveragePooling2D(); });
  expect_near_single(+[] { return GlobalMaxPooling2D(); });
  expect_near_single(+[] { return GroupNormalization({.groups = 2}); });
  expect_near_single(+[] { return LayerNormalization({.axes = {2, 3}}); });
  expect_near_single(+[] { return LayerScale({.init_values = 0.7}); });
  expect_near_single(+[] { return LeakyReLU(); });
  expect_near_single(+[] { return MaxPooling2D(); });
  expect_near_single(+[] {
    return Sequential(Reshape({.target_shape = {36, 4}}),
                      MultiHeadAttention({.num_heads = 2, .key_dim = 3, .use_causal_mask = true}));
  });
  expect_near_single(+[] { return Normalization({.mean = {0.5}, .variance = {0.25}}); });
  expect_near_single(+[] {
    return PReLU({.alpha_initializer = Initializer::constant(0.3), .shared_axes = {1, 2}});
  });
  expect_near_single(+[] { return Permute({3, 1, 2}); });
  expect_near_single(+[] { return TimeDistributed(Dense({.units = 3, .activation = Activation::tanh})); });
  expect_near_single(+[] { return RMSNormalization(); });
  expect_near_single(+[] { return ReLU({.negative_slope = 0.1}); });
  expect_near_single(+[] { return Rescaling({.scale = {1, 2, 3, 4}, .offset = {0.5, 1, 1.5, 2}}); });
  expect_near_single(+[] { return Reshape({.target_shape = {-1, 8}}); });
  expect_near_single(
      +[] { return SeparableConv2D({.filters = 3, .depth_multiplier = 2, .activation = Activation::relu}); });
  expect_near_single(+[] { return Softmax(); });
  expect_near_single(+[] { return UnitNormalization({.axes = {1, 3}}); });
  expect_near_single(+[] { return UpSampling2D(); });
  expect_near_single(+[] { return UpSampling2D({.interpolation = Interpolation::bilinear}); });
  expect_near_single(+[] { return ZeroPadding2D(2); });
}

TEST(MixedPrecision, LayersOfSequencesComputeLikeF32) {
  const Shape steps{9, 4};
  expect_near_single(
      +[] { return Conv1D({.filters = 5, .padding = Padding1D::causal, .activation = Activation::gelu}); },
      steps);
  expect_near_single(
      +[] { return Conv1DTranspose({.filters = 3, .strides = 2}); }, steps);
  expect_near_single(
      +[] { return DepthwiseConv1D({.depth_multiplier = 2, .activation = Activation::relu}); }, steps);
  expect_near_single(
      +[] { return SeparableConv1D({.filters = 3, .activation = Activation::tanh}); }, steps);
  expect_near_single(
      +[] { return MaxPooling1D(); }, steps);
  expect_near_single(
      +[] { return AveragePooling1D({.pool = 3, .padding = Padding::same}); }, steps);
  expect_near_single(
      +[] { return GlobalMaxPooling1D(); }, steps);
  expect_near_single(
      +[] { return UpSampling1D(); }, steps);
  expect_near_single(+[] { return RepeatVector(3); }, {4});
  expect_near_single(
      +[] { return Cropping1D(); }, steps);
  expect_near_single(
      +[] { return ZeroPadding1D(); }, steps);
}

TEST(MixedPrecision, AttentionsComputeLikeF32) {
  const Shape steps{9, 4};
  expect_near_single(
      +[] { return SelfAttention<Attention>(AttentionOptions{.use_scale = true, .use_causal_mask = true}); },
      steps);
  expect_near_single(
      +[] {
        return SelfAttention<Attention>(AttentionOptions{.use_scale = true, .score_mode = ScoreMode::concat});
      },
      steps);
  expect_near_single(
      +[] { return SelfAttention<AdditiveAttention>(AdditiveAttentionOptions{}); }, steps);
}

// Which in bf16 would miss it by another of its steps, and all products with it.
TEST(MixedPrecision, LengthsOfVectorsAreF32) {
  const Tensor x = random_tensor({64, 100}, 8).to(DType::bf16), first = Tensor::zeros({64, 100}, x.options());
  first.slice(1, 0, 1).fill(1.0);
  const Variable y =
      Dot({.axes = {1}, .normalize = true})({x.to(default_backend()), first.to(default_backend())});
  EXPECT_EQ(y.dtype(), DType::bf16);
  const Tensor exact = UnitNormalization()(x.to(DType::f64)).value().slice(1, 0, 1).contiguous();
  EXPECT_EQ(values(y), exact.to(DType::f32).to(DType::bf16).to_vector<double>());
}

TEST(MixedPrecision, OneMixtureIsThere) {
  Dense layer({.units = 2});
  EXPECT_NE(message_of([&] {
              layer.build({3}, {.dtype = DType::f64, .compute_dtype = DType::bf16});
            }).find("cannot compute in bf16 with weights in f64"),
            std::string::npos);
  EXPECT_FALSE(layer.is_built());
}

TEST(MixedPrecision, LossesAreF32OfTheRoundedOutputs) {
  const Tensor x = random_tensor({3, 4}, 5).to(DType::bf16), labels = i32_tensor({2, 0, 1});
  const Tensor rows = f64_tensor({3, 4}, {0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0});
  const auto expect_same = [&](const Loss& loss, const Tensor& target, bool softmaxed) {
    SCOPED_TRACE(cat(loss.name(), " of ", target));
    const Variable logits = Variable::parameter(x.clone()), wide = Variable::parameter(x.to(DType::f32));
    const Variable losses = loss(softmaxed ? softmax(logits) : logits, target);
    const Variable expected = loss(softmaxed ? softmax(wide) : wide, target);
    EXPECT_EQ(losses.dtype(), DType::f32);
    EXPECT_EQ(values(losses), values(expected));
    sum(losses).backward();
    sum(expected).backward();
    EXPECT_EQ(logits.grad().to_vector<double>(), wide.grad().to(DType::bf16).to_vector<double>());
  };
  expect_same(CategoricalCrossentropy(), labels, true);
  expect_same(CategoricalCrossentropy(), rows, true);
  expect_same(SparseCategoricalCrossentropy({.from_logits = true}), labels, false);
  expect_same(BinaryCrossentropy({.from_logits = true}), rows, false);
  expect_same(MeanSquaredError(), rows, false);
}

}  // namespace
}  // namespace ronde::test
