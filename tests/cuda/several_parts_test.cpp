// A net with several inputs and outputs on the fake device: weights and logs after a few steps are the
// oracle's.
#include <ronde/core/ops.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/model.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/output_losses.h>
#include <ronde/nn/sgd.h>

#include "cuda/fake_device.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kGames = 24;

std::unique_ptr<Graph> two_heads() {
  auto net = std::make_unique<Graph>();
  const Symbol board = net->input("board", {5, 5, 2}), clocks = net->input("clocks", {3});
  const Symbol seen = net->add(Flatten(), net->add(Conv2D({.filters = 3}), board));
  const Symbol body =
      net->add(Dense({.units = 8, .activation = Activation::relu}), net->add(Concatenate(), {seen, clocks}));
  net->output({net->add(Dense({.units = 4, .activation = Activation::softmax, .name = "policy"}), body),
               net->add(Dense({.units = 1, .name = "value"}), body)});
  return net;
}

Tensor noise(const Shape& shape, std::uint64_t seed) {
  const Values values = random_values(shape.count(), seed);
  return Tensor::from<float>(shape, std::vector<float>(values.begin(), values.end()));
}

/// Labels and results.
InMemoryDataset games() {
  std::vector<float> labels;
  for (std::int64_t i = 0; i < kGames; ++i) labels.push_back(static_cast<float>(i * 3 % 4));
  return {join_rows({noise({kGames, 5, 5, 2}, 5), noise({kGames, 3}, 6)}).value(),
          join_rows({Tensor::from<float>({kGames, 1}, labels), noise({kGames, 1}, 7)}).value()};
}

struct Learned {
  std::vector<double> weights;
  Logs logs;
};

Learned learn(Backend& backend, std::optional<DType> compute_dtype) {
  Model model(two_heads(), {53}, {.seed = 3, .backend = &backend, .compute_dtype = compute_dtype});
  const auto& net = dynamic_cast<const Graph&>(model.module());
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1}),
                 .loss = std::make_unique<OutputLosses>(
                     net.output_parts(),
                     std::vector<OutputLoss>{{.output = "policy",
                                              .loss = make_loss("sparse_categorical_crossentropy"),
                                              .metrics = {make_metric("accuracy")}},
                                             {.output = "value", .loss = make_loss("mse"), .weight = 0.5}})});
  model.fit(games(), {.batch_size = 5, .epochs = 2, .verbose = 0});  // some of ten steps are a graph
  return {model.arena().values().to_vector<double>(), model.evaluate(games()).logs};
}

void expect_those_of_the_oracle(std::optional<DType> compute_dtype, double tolerance) {
  const Learned expected = learn(backend("cpu"), compute_dtype);
  FakeDevice device({.seed = 7});
  const Learned got = learn(device.backend, compute_dtype);
  ASSERT_EQ(got.weights.size(), expected.weights.size());
  for (std::size_t i = 0; i < got.weights.size(); ++i)
    EXPECT_NEAR(got.weights[i], expected.weights[i], tolerance) << i;
  EXPECT_EQ(got.logs.entries().size(), 4u);
  for (const auto& [name, value] : expected.logs.entries())
    EXPECT_NEAR(got.logs.at(name), value, 4 * tolerance) << name;
}

TEST(CudaSeveralParts, AreTrainedAsByTheOracle) {
  expect_those_of_the_oracle({}, 1e-5);
}

TEST(CudaSeveralParts, InMixedPrecisionToo) {
  expect_those_of_the_oracle(DType::bf16, 0x1p-6);
}

/// The gradient of rows with a picture behind three numbers, through a convolution.
std::vector<double> through_a_picture(Backend& backend) {
  const auto variable = [&](const Shape& shape, std::uint64_t seed) {
    return Variable::parameter(noise(shape, seed).to(backend));
  };
  const Variable rows = variable({1, 3 + 5 * 5 * 8}, 1), weight = variable({16, 3, 3, 8}, 2);
  const Variable picture = split_rows(rows, {Shape{3}, Shape{5, 5, 8}}).at(1);
  sum(square(conv2d(picture, weight))).backward();
  std::vector<double> gradients = rows.grad().to_vector<double>();
  for (const double value : weight.grad().to_vector<double>()) gradients.push_back(value);
  return gradients;
}

// The rows of one sample are its parts, without a copy: the picture begins between two packs of 16 bytes.
TEST(CudaSeveralParts, AConvolutionReadsWholePacks) {
  std::vector<const void*> images;
  FakeDevice device({.on_launch = [&](const cuda::Call& call) {
    if (call.op == cuda::Op::conv2d) images.push_back(call[1].data);
    if (call.op == cuda::Op::conv2d_backward_weight) images.push_back(call[3].data);
  }});
  const std::vector<double> gradients = through_a_picture(device.backend);
  EXPECT_EQ(images.size(), 2u);
  for (const void* begin : images) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % 16, 0u);
  const std::vector<double> expected = through_a_picture(backend("cpu"));
  ASSERT_EQ(gradients.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(gradients[i], expected[i], 1e-3) << i;
}

}  // namespace
}  // namespace ronde::test
