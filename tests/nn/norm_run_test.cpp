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
