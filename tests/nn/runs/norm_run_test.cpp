#include <ronde/nn/leaky_relu.h>

#include "nn/relu_nets.h"

namespace ronde::test {
namespace {

TEST(NormRun, GivesTheBitsOfItsLayers) {
  for (const Backend* each : backends())
    for (const DType dtype : {DType::f32, DType::f64}) {
      const BuildOptions options{.dtype = dtype, .backend = &backend(each->name())};
      EXPECT_EQ(numbers_of(*norm_relu_graph<ReLU>(), options, 5),
                numbers_of(*norm_relu_graph<OwnRelu>(), options, 5));
      EXPECT_EQ(numbers_of(*frozen_norm_relu_graph<ReLU>(), options, 5),
                numbers_of(*frozen_norm_relu_graph<OwnRelu>(), options, 5));
      EXPECT_EQ(numbers_of(*norm_relu_sequence<ReLU>(), options, 5),
                numbers_of(*norm_relu_sequence<OwnRelu>(), options, 5));
    }
}

/// Results, and the gradient of beta, of a normalisation with `gain` and of what is behind it.
std::vector<double> numbers_with(std::unique_ptr<Module> behind, double gain, double beta) {
  const Tensor x = random_tensor({50, 4}, 1, -1, 1);
  Sequential net;
  net.add(BatchNormalization());
  net.add(std::move(behind));
  net.build({4}, {.dtype = DType::f64, .backend = &backend("cpu")});
  net.parameters()[0].variable.assign(Tensor::full({4}, gain, x.options()));
  net.parameters()[1].variable.assign(Tensor::full({4}, beta, x.options()));
  const Variable y = net(x, {.training = true});
  sum(square(y)).backward();
  std::vector<double> numbers = y.value().to_vector<double>();
  const std::vector<double> gradient = net.parameters()[1].variable.grad().to_vector<double>();
  numbers.insert(numbers.end(), gradient.begin(), gradient.end());
  return numbers;
}

/// A layer of a class that no run knows.
template <class Layer>
struct Own : Layer {
  using Layer::Layer;
};

template <class Layer, class... Options>
void expect_numbers_of_layers(const Options&... options) {
  EXPECT_EQ(numbers_with(std::make_unique<Layer>(options...), 8.0, 1.0),
            numbers_with(std::make_unique<Own<Layer>>(options...), 8.0, 1.0));
}

TEST(NormRun, TakesElementwiseActivations) {
  const std::vector<double> y = numbers_with(std::make_unique<ReLU>(ReLUOptions{.max_value = 6.0}), 8.0, 1.0);
  EXPECT_GT(std::count(y.begin(), y.end(), 6.0), 20);
  expect_numbers_of_layers<ReLU>(ReLUOptions{.max_value = 6.0});
  expect_numbers_of_layers<ReLU>(ReLUOptions{.negative_slope = 0.1});
  expect_numbers_of_layers<LeakyReLU>(0.3);
  for (int kind = 0; kind <= static_cast<int>(Activation::kLastKind); ++kind)
    expect_numbers_of_layers<Activation>(static_cast<Activation::Kind>(kind));
}

// Of which a relu behind a normalisation would change the result.
TEST(NormRun, TakesPlainRelusOnly) {
  const Tensor x = random_tensor({6, 4}, 1, -3, 3);
  const auto largest = [&](std::unique_ptr<Module> behind) {
    Sequential net;
    net.add(BatchNormalization());
    net.add(std::move(behind));
    net.build({4}, {.dtype = DType::f64, .backend = &backend("cpu")});
    const std::vector<double> y = net(x, {.training = true}).value().to_vector<double>();
    return std::pair(*std::min_element(y.begin(), y.end()), *std::max_element(y.begin(), y.end()));
  };
  EXPECT_EQ(largest(std::make_unique<ReLU>(ReLUOptions{.max_value = 0.25})), std::pair(0.0, 0.25));
  EXPECT_LT(largest(std::make_unique<ReLU>(ReLUOptions{.negative_slope = 0.5})).first, 0.0);
  EXPECT_LT(largest(std::make_unique<Activation>(Activation::tanh)).first, 0.0);
  EXPECT_EQ(largest(std::make_unique<Activation>(Activation::relu)).first, 0.0);
}

}  // namespace
}  // namespace ronde::test
