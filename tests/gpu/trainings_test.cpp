// Trainings on `cuda_backend(0)`: a GPU or, where $RONDE_CUDA_MODULE says so, the fake device in its place.
// What is compared bit by bit ran on the same device, with the same plans; beside the CPU's it is but for
// rounding.
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <ronde/core/cuda.h>
#include <ronde/core/ops.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/model.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sgd.h>

#include "core/testing.h"
#include "models/interop/random_application.h"

namespace ronde::test {
namespace {

using Net = std::unique_ptr<Graph>;

Backend& gpu() {
  return cuda_backend(0);
}

Tensor noise(const Shape& shape, std::uint64_t seed) {
  const Values values = random_values(shape.count(), seed);
  return Tensor::from<float>(shape, std::vector<float>(values.begin(), values.end()));
}

InMemoryDataset pictures() {
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < 16; ++i) labels.push_back(i % 4);
  return {noise({16, 9, 9, 2}, 5), Tensor::from<std::int32_t>({16}, labels)};
}

/// A layer of a program's own, whose steps are graphs if it says that it does the same each time.
class OwnDense : public Dense {
 public:
  explicit OwnDense(bool is_repeatable)
      : Dense({.units = 4, .activation = Activation::softmax, .name = "own"}),
        is_repeatable_(is_repeatable) {}
  bool is_repeatable() const override { return is_repeatable_; }

 private:
  bool is_repeatable_;
};

/// With what shares kernels with its neighbours, and gradients that are made where others lie.
Net residual_net(bool is_repeatable = true) {
  auto net = std::make_unique<Graph>();
  const auto normalised = [&](const Symbol& x, Activation::Kind activation) {
    const Symbol y = net->add(Conv2D({.filters = 8, .padding = Padding::same, .use_bias = false}), x);
    return net->add(Activation(activation), net->add(BatchNormalization(), y));
  };
  Symbol x = normalised(net->input(), Activation::relu);
  x = net->add(Activation(Activation::relu), net->add(Add(), {normalised(x, Activation::linear), x}));
  x = net->add(Dropout(0.25), net->add(MaxPooling2D(), normalised(x, Activation::tanh)));
  x = net->add(Conv2D({.filters = 16, .activation = Activation::relu}), x);
  x = net->add(Concatenate(), {net->add(Flatten(), x), net->add(GlobalAveragePooling2D(), x)});
  net->output(net->add(OwnDense(is_repeatable), x));
  return net;
}

Net application(std::uint64_t seed) {
  Dice dice(seed);
  return random_application(dice, {.classes = 4, .repeatable = false, .keras3_only = seed % 2 == 0});
}

/// Weights, statistics and losses.
Values trained(Backend& backend, Net net, std::uint64_t seed, std::optional<DType> compute_dtype = {}) {
  Model model(std::move(net), {9, 9, 2}, {.seed = seed, .backend = &backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.02}),
                 .loss = std::make_unique<CategoricalCrossentropy>()});
  FitOptions fit{
      .batch_size = 4, .epochs = 2, .non_finite = {.action = NonFiniteAction::abort}, .verbose = 0};
  fit.warn = [](const std::string&) {};  // of steps that are no graphs
  const History history = model.fit(pictures(), fit);
  Values all = history.values.at("loss");
  for (const double value : model.arena().values().to_vector<double>()) all.push_back(value);
  for (const double value : model.arena().buffers().to_vector<double>()) all.push_back(value);
  return all;
}

void expect_all_near(const Values& got, const Values& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
}

TEST(GpuTrainings, GiveTheWeightsOfTheCpu) {
  expect_all_near(trained(gpu(), residual_net(), 1), trained(backend("cpu"), residual_net(), 1), 5e-4);
  for (const std::uint64_t seed : {0, 1}) {
    SCOPED_TRACE(seed);
    expect_all_near(trained(gpu(), application(seed), 1), trained(backend("cpu"), application(seed), 1),
                    5e-4);
  }
}

TEST(GpuTrainings, InMixedPrecisionToo) {
  expect_all_near(trained(gpu(), residual_net(), 1, DType::bf16),
                  trained(backend("cpu"), residual_net(), 1, DType::bf16), 0x1p-7);
}

TEST(GpuTrainings, GiveTheSameBitsAsGraphsAndKernelByKernel) {
  for (const std::optional<DType> dtype : {std::optional<DType>(), std::optional(DType::bf16)}) {
    const Values graphs = trained(gpu(), residual_net(true), 1, dtype);
    EXPECT_EQ(trained(gpu(), residual_net(false), 1, dtype), graphs);
    EXPECT_EQ(trained(gpu(), residual_net(true), 1, dtype), graphs);
  }
}

// Each does something else at the same time: makes graphs, repeats them, or gives the device kernel by
// kernel.
TEST(GpuTrainings, OfSeveralThreadsDoNotDisturbEachOther) {
  constexpr std::size_t kThreads = 4;
  const auto training = [](std::size_t i) { return trained(gpu(), residual_net(i % 2 == 0), i); };
  std::vector<Values> alone, together(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) alone.push_back(training(i));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { together[i] = training(i); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kThreads; ++i) EXPECT_EQ(together[i], alone[i]) << i;
}

/// The gradient of rows with a picture behind three numbers, which begins between two packs of 16 bytes.
Values through_a_picture(Backend& backend) {
  const auto variable = [&](const Shape& shape, std::uint64_t seed) {
    return Variable::parameter(noise(shape, seed).to(backend));
  };
  const Variable rows = variable({1, 3 + 9 * 9 * 8}, 1), weight = variable({16, 3, 3, 8}, 2);
  const std::vector<Variable> parts = split_rows(rows, {Shape{3}, Shape{9, 9, 8}});
  (sum(square(conv2d(parts.at(1), weight))) + sum(parts.at(0))).backward();
  Values gradients = rows.grad().to_vector<double>();
  for (const double value : weight.grad().to_vector<double>()) gradients.push_back(value);
  return gradients;
}

TEST(GpuTrainings, PartsOfARowMayBeginAnywhere) {
  expect_all_near(through_a_picture(gpu()), through_a_picture(backend("cpu")), 1e-2);
}

}  // namespace
}  // namespace ronde::test
