// Operations that are made of several kernels, recorded and walked backwards on the fake device.
#include <algorithm>
#include <functional>

#include <ronde/core/ops.h>
#include <ronde/core/random.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/attention.h>
#include <ronde/nn/depthwise_conv1d.h>
#include <ronde/nn/dot.h>
#include <ronde/nn/elu.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/masking.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/repeat_vector.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/separable_conv1d.h>
#include <ronde/nn/time_distributed.h>
#include <ronde/nn/unit_normalization.h>

#include "cuda/digits.h"

namespace ronde::test {
namespace {

/// As a program does that evaluates with a NoGrad and trains on in the same block.
TEST(CudaOperations, ATrainingWithinANoGradIsRecordedAndRepeated) {
  const auto trained = [](bool within) {
    FakeDevice device;
    Model model = digits_model(device.backend, {});
    std::optional<NoGrad> no_grad;
    if (within) no_grad.emplace();
    model.fit(digits(), {.batch_size = 4, .max_steps = 6, .verbose = 0});
    EXPECT_EQ(device.runtime.replays(), 4);
    return model.weights_sha256();
  };
  EXPECT_EQ(trained(true), trained(false));
}

using OfOne = std::function<Variable(const Variable&)>;

/// f(x) and the gradient of the sum of its squares.
std::vector<double> value_and_gradient(Backend& backend, const OfOne& f, const Shape& shape) {
  const Values noise = random_values(shape.count(), 5);
  const std::vector<float> values(noise.begin(), noise.end());
  Variable x = Variable::parameter(Tensor::from<float>(shape, values, &backend));
  const Variable y = f(x);
  sum(square(y)).backward();
  std::vector<double> all = y.value().to_vector<double>();
  for (const double value : x.grad().to_vector<double>()) all.push_back(value);
  return all;
}

void expect_that_of_the_oracle(const OfOne& f, const Shape& shape) {
  FakeDevice device({.seed = 7});
  expect_near(value_and_gradient(device.backend, f, shape), value_and_gradient(backend("cpu"), f, shape),
              1e-5);
}

TEST(CudaOperations, PartsOfAVariable) {
  const OfOne steps = [](const Variable& x) { return concat(unstack(exp(x), 1), 1); };
  const OfOne some = [](const Variable& x) {
    const std::vector<Variable> parts = split(x, {2, 1, 3}, -1);
    return sum(parts[2] * parts[2]) + sum(parts[0]) + sum(slice(x, 1, 0, 2));
  };
  for (const OfOne& f : {steps, some}) expect_that_of_the_oracle(f, {3, 4, 6});
}

TEST(CudaOperations, LabelsOfTheLargerIntegers) {
  expect_that_of_the_oracle([](const Variable& x) { return softmax_cross_entropy(x, argmax(x.value())); },
                            {5, 7});
  constexpr std::int64_t kFar = std::int64_t{1} << 32;
  for (const std::int64_t label : {kFar + 1, 1 - kFar, std::int64_t{-1}, std::int64_t{3}})
    EXPECT_THROW(
        {
          FakeDevice device;
          softmax_cross_entropy(Tensor::full({1, 3}, 0.5, {.backend = &device.backend}),
                                Tensor::from<std::int64_t>({1}, {label}, &device.backend));
          device.backend.synchronize();
        },
        Error)
        << label;
}

TEST(CudaOperations, PickedElements) {
  const OfOne largest = [](const Variable& x) { return pick(exp(x), argmax(x.value())); };
  const OfOne twice = [](const Variable& x) {
    return pick(x, Tensor::from<std::int32_t>({5, 3}, {0, 0, 6, 1, 2, 3, 4, 4, 4, 6, 5, 0, 1, 0, 1},
                                              &x.value().backend()));
  };
  for (const OfOne& f : {largest, twice}) expect_that_of_the_oracle(f, {5, 7});
  constexpr std::int64_t kFar = std::int64_t{1} << 32;
  for (const std::int64_t index : {kFar + 1, 1 - kFar, std::int64_t{-1}, std::int64_t{3}})
    EXPECT_THROW(
        {
          FakeDevice device;
          pick(Tensor::full({2, 3}, 0.5, {.backend = &device.backend}),
               Tensor::from<std::int64_t>({2}, {index, 0}, &device.backend));
          device.backend.synchronize();
        },
        Error)
        << index;
}

/// Scales each sample by its largest value, which it picks.
struct Picking : Module {
  Dense in{{.units = 4}};
  Picking() { add_module("in", in); }
  bool is_repeatable() const override { return true; }
  Variable forward(const Variable& x, const Context& context) override {
    const Variable y = in(reshape(x, {x.size(0), -1}), context);
    return softmax(y * reshape(pick(y, argmax(y.value())), {x.size(0), 1}));
  }
};

TEST(CudaOperations, PickedElementsInAGraphThatIsRepeated) {
  const auto trained = [](Backend& backend) {
    Model model(std::make_unique<Picking>(), {8, 8, 1}, {.seed = 3, .backend = &backend});
    model.compile({.optimizer = digits_optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
    model.fit(digits(), {.batch_size = 4, .max_steps = 6, .verbose = 0});
    return model.arena().values().to_vector<double>();
  };
  FakeDevice device;
  expect_near(trained(device.backend), trained(backend("cpu")), 1e-5);
  EXPECT_EQ(device.runtime.replays(), 4);
}

std::unique_ptr<Module> attention_net() {
  return std::make_unique<Sequential>(
      Reshape({.target_shape = {8, 8}}),
      MultiHeadAttention(
          {.num_heads = 2, .key_dim = 3, .dropout = 0.2, .use_causal_mask = true, .name = "within"}),
      MultiHeadAttention({.num_heads = 1, .key_dim = 4, .name = "again"}), GlobalAveragePooling1D(),
      Dense({.units = 4, .activation = Activation::softmax}));
}

/// Of attentions without heads, and of other layers of sequences.
std::unique_ptr<Module> sequence_net() {
  auto net = std::make_unique<Graph>();
  Symbol x = net->add(Reshape({.target_shape = {8, 8}}), net->input());
  x = net->add(SeparableConv1D({.filters = 4, .padding = Padding1D::same, .depth_multiplier = 2}), x);
  x = net->add(DepthwiseConv1D({.padding = Padding::same, .activation = Activation::relu}), x);
  Symbol y = net->add(Attention({.use_scale = true, .dropout = 0.2, .use_causal_mask = true}), {x, x});
  y = net->add(Attention({.use_scale = true, .score_mode = ScoreMode::concat}), {x, y});
  y = net->add(AdditiveAttention(), {y, net->add(Permute({2, 1}), net->add(Dense({.units = 8}), x)), y});
  const Symbol same = net->add(RepeatVector(4), net->add(GlobalAveragePooling1D(), y));
  y = net->add(Flatten(), net->add(Dot({.axes = {2}, .normalize = true}), {same, y}));
  net->output(net->add(Dense({.units = 4, .activation = Activation::softmax}), y));
  return net;
}

/// Of normalisations and slopes, and of a net for each step.
std::unique_ptr<Module> net_of_steps() {
  return std::make_unique<Sequential>(
      GroupNormalization({.groups = 1}), PReLU({.shared_axes = {1, 2}}), Reshape({.target_shape = {4, 16}}),
      TimeDistributed(Sequential(Dense({.units = 6}), ELU(), Dropout(0.3))), RMSNormalization(),
      GroupNormalization({.groups = 2}), GRU({.units = 5, .dropout = 0.2}), UnitNormalization(),
      Dense({.units = 4, .activation = Activation::softmax}));
}

using NetOfDigits = std::unique_ptr<Module> (*)();

std::vector<double> train_net(NetOfDigits net, Backend& backend, ComputeDtype compute_dtype) {
  Model model(net(), {8, 8, 1}, {.seed = 3, .backend = &backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01}),
                 .loss = std::make_unique<CategoricalCrossentropy>()});
  model.fit(digits(), {.batch_size = 4, .max_steps = 6, .verbose = 0});
  return model.arena().values().to_vector<double>();
}

// Their steps are repeated, too.
TEST(CudaOperations, NetsGiveTheWeightsOfTheOracle) {
  for (const NetOfDigits net : {attention_net, sequence_net, net_of_steps})
    for (const auto& [compute_dtype, tolerance] :
         {std::pair<ComputeDtype, double>{{}, 1e-5}, {DType::bf16, 0x1p-6}}) {
      const std::vector<double> expected = train_net(net, backend("cpu"), compute_dtype);
      FakeDevice device({.seed = 7});
      expect_near(train_net(net, device.backend, compute_dtype), expected, tolerance);
      EXPECT_EQ(device.runtime.replays(), 4);
    }
}

/// Loss, accuracy and weights of a net with a class for each step that is not zeros.
std::vector<double> train_masked(Backend& backend) {
  const Tensor inputs = random_normal({12, 5, 2}, {.seed = 3});
  for (std::int64_t row = 0; row < 60; row += 4) std::fill_n(inputs.data<float>() + 2 * row, 2, 0.0f);
  const Tensor labels = Tensor::zeros({12, 5}, {.dtype = DType::i32});
  for (std::int64_t i = 0; i < 60; ++i) labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7 % 3);
  Model model(std::make_unique<Sequential>(Masking(0.0), GRU({.units = 4, .return_sequences = true}),
                                           Dense({.units = 3, .activation = Activation::softmax})),
              {5, 2}, {.seed = 3, .backend = &backend});
  model.compile({.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01}),
                 .loss = std::make_unique<SparseCategoricalCrossentropy>()});
  const History history =
      model.fit(InMemoryDataset(inputs, labels), {.batch_size = 4, .epochs = 2, .verbose = 0});
  std::vector<double> found = model.arena().values().to_vector<double>();
  for (const char* name : {"loss", "accuracy"}) found.push_back(history.values.at(name).back());
  return found;
}

// Its steps are not repeated.
TEST(CudaOperations, MaskedOutputsGiveTheWeightsOfTheOracle) {
  const std::vector<double> expected = train_masked(backend("cpu"));
  FakeDevice device({.seed = 7});
  expect_near(train_masked(device.backend), expected, 1e-5);
  EXPECT_EQ(device.runtime.replays(), 0);
}

}  // namespace
}  // namespace ronde::test
