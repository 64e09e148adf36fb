// A convolution, the norm behind it by its moving statistics, and an activation as one: what the layers give,
// and when they are one.
#include <memory>
#include <set>
#include <string>

#include <ronde/nn/conv2d.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/zero_padding2d.h>

#include "nn/relu_nets.h"

namespace ronde::test {
namespace {

/// Of a class that no run takes in.
class OwnNorm : public BatchNormalization {
 public:
  using BatchNormalization::BatchNormalization;
};

/// With an activation behind the norm, with margins and none, and with one that is no elementwise function.
template <class Norm>
void add_layers(Sequential& net) {
  net.add(Conv2D({.filters = 24, .kernel = {3, 3}, .padding = Padding::same}));
  net.add(Norm());
  net.add(Activation(Activation::silu));
  net.add(ZeroPadding2D(1));
  net.add(DepthwiseConv2D({.kernel = {3, 3}, .strides = {2, 2}, .use_bias = false}));
  net.add(Norm());
  net.add(Conv2D({.filters = 17, .kernel = {1, 1}, .activation = Activation::tanh}));
  net.add(Norm());
  net.add(Activation(Activation::softmax));
}

template <class Norm>
std::unique_ptr<Sequential> built_net(const BuildOptions& options) {
  auto net = std::make_unique<Sequential>();
  add_layers<Norm>(*net);
  net->build({9, 9, 16}, options);
  std::uint64_t seed = 1;
  for (const Parameter& parameter : net->parameters())
    parameter.variable.value().copy_from(random_tensor(parameter.variable.shape(), seed++, 0.1, 1));
  return net;
}

TEST(ConvNormRun, GivesTheBitsOfItsLayers) {
  for (const Backend* each : backends())
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(cat(each->name(), " ", to_string(dtype)));
      const BuildOptions options{.dtype = dtype, .backend = &backend(each->name())};
      const Tensor x = random_tensor({5, 9, 9, 16}, 1).to(dtype).to(*options.backend);
      for (const bool training : {false, true}) {
        const auto numbers = [&](Sequential& net) {
          return net(x, {.training = training}).value().to_vector<double>();
        };
        EXPECT_EQ(numbers(*built_net<BatchNormalization>(options)), numbers(*built_net<OwnNorm>(options)));
      }
    }
}

/// The names of the net's calls.
std::set<std::string> calls_of(Module& net, bool training) {
  return names_of_calls(net, Tensor::zeros({2, 9, 9, 16}), training);
}

TEST(ConvNormRun, IsOneWhereMovingStatisticsAreUsed) {
  Sequential net;
  add_layers<BatchNormalization>(net);
  net.build({9, 9, 16});
  const std::string first = "conv2d + batch_normalization + activation",
                    second = "zero_padding2d + depthwise_conv2d + batch_normalization_1",
                    third = "conv2d_1 + batch_normalization_2";
  const std::set<std::string> inference = calls_of(net, false), training = calls_of(net, true);
  EXPECT_EQ(inference.count(first) + inference.count(second), 2u);
  EXPECT_EQ(inference.count(third), 0u) << "an activation lies between them";
  EXPECT_EQ(training.count(first) + training.count(second), 0u);
  net.set_trainable(false);
  EXPECT_EQ(calls_of(net, true).count(first), 1u);
}

// A frozen norm's gradients go through both.
TEST(ConvNormRun, HasTheGradientsOfItsLayers) {
  const auto gradient = [](Sequential& net) {
    net.set_trainable(false);
    Variable x = Variable::parameter(random_tensor({2, 9, 9, 16}, 3));
    sum(square(net(x, {.training = true}))).backward();
    return x.grad().to_vector<double>();
  };
  const BuildOptions options{.dtype = DType::f64, .backend = &backend("cpu")};
  EXPECT_EQ(gradient(*built_net<BatchNormalization>(options)), gradient(*built_net<OwnNorm>(options)));
}

}  // namespace
}  // namespace ronde::test
