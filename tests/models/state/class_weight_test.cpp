// Which class's weight a sample has, where its target is no label and no one-hot row: as Keras chooses it.
#include <ronde/core/backend.h>
#include <ronde/nn/activation.h>

#include "models/testing.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kSamples = 5;

/// SHA-256 of the weights after an epoch in order.
std::string trained(const std::string& loss, Activation::Kind activation, const Tensor& targets,
                    const FitOptions& options) {
  Sequential net(Dense({.units = targets.size(1), .activation = activation}));
  Model model(net, {2}, {.dtype = DType::f64, .backend = &backend("cpu")});
  model.compile({.optimizer = std::make_unique<SGD>(), .loss = make_loss(loss)});
  const Tensor inputs = Tensor::from<double>({kSamples, 2}, {1, -2, 3, 0.5, -1, 1, 2, 2, -0.5, 1});
  model.fit(InMemoryDataset(inputs, targets), options);
  return model.weights_sha256();
}

/// Expects that weights of the classes train as those of samples of `classes` do.
void expect_classes(const std::string& loss, Activation::Kind activation, const std::vector<double>& targets,
                    const std::vector<std::size_t>& classes) {
  SCOPED_TRACE(loss);
  const std::int64_t units = static_cast<std::int64_t>(targets.size()) / kSamples;
  const Tensor wanted = Tensor::from<double>({kSamples, units}, targets);
  FitOptions by_class{.batch_size = 2, .shuffle = false, .verbose = 0}, by_sample = by_class;
  const std::vector<double> weights = units == 1 ? std::vector{0.5, 2.0} : std::vector{0.5, 2.0, 3.0};
  by_class.class_weight = weights;
  for (const std::size_t one : classes) by_sample.sample_weight.push_back(weights.at(one));
  EXPECT_EQ(trained(loss, activation, wanted, by_class), trained(loss, activation, wanted, by_sample));
}

TEST(ClassWeight, IsThatOfTheLabelNearest) {
  expect_classes("binary_crossentropy", Activation::sigmoid, {0.95, 0.05, 0.6, 0.4, 1.0}, {1, 0, 1, 0, 1});
}

TEST(ClassWeight, IsThatOfTheLargestShare) {
  expect_classes("categorical_crossentropy", Activation::softmax,
                 {0.5, 0.3, 0.2, 0.1, 0.6, 0.3, 0.2, 0.2, 0.6, 0.4, 0.3, 0.3, 0.3, 0.4, 0.3},
                 {0, 1, 2, 0, 1});
}

// A sample of several labels has the weight of the first, and one of none is trained all the same.
TEST(ClassWeight, IsThatOfTheFirstOfSeveralLabels) {
  expect_classes("binary_crossentropy", Activation::sigmoid, {0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0},
                 {0, 1, 0, 2, 1});
}

// A sum over targets would be negative here, and training would go up its loss.
TEST(ClassWeight, IsThatOfTheLargestValue) {
  expect_classes("mse", Activation::linear, {-1, -2, -3, 5, -9, 2, -3, -2, -1, 0.5, 4, 0.5, 0, 0, 1},
                 {0, 0, 2, 1, 2});
}

}  // namespace
}  // namespace ronde::test
