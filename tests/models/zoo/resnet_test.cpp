// Counts of weights against those published, and that the smallest one trains.
#include <ronde/models/cifar_resnet.h>
#include <ronde/models/resnet.h>

#include <cmath>

#include "models/testing.h"

namespace ronde::test {
namespace {

/// Trainable and all weights of a net built for images of this size, on which counts do not depend.
struct Counts {
  std::int64_t trainable, all;
  bool operator==(const Counts&) const = default;
};

Counts counts(std::unique_ptr<Graph> net, std::int64_t size) {
  net->build({size, size, 3});
  return {net->parameter_count(true), net->parameter_count()};
}

TEST(CifarResnet, HasTheCountsOfKerasExample) {
  // Keras' example cifar10_resnet, version 1: what model.summary() prints for n = 3, 5, 9.
  EXPECT_EQ(counts(cifar_resnet({.depth = 20}), 8), (Counts{273'066, 274'442}));
  EXPECT_EQ(counts(cifar_resnet({.depth = 32}), 8), (Counts{467'946, 470'218}));
  EXPECT_EQ(counts(cifar_resnet({.depth = 56}), 8), (Counts{857'706, 861'770}));
}

TEST(CifarResnet, RefusesOtherDepths) {
  EXPECT_EQ(message_of<UsageError>([] { cifar_resnet({.depth = 18}); }),
            "[cifar_resnet] depth must be 6 n + 2 (20, 32, 56, ...), got 18");
  EXPECT_THROW(cifar_resnet({.depth = 2}), UsageError);
}

TEST(CifarResnet, HalvesTheImagesTwice) {
  const auto net = resnet20();
  net->build({32, 32, 3});
  EXPECT_EQ(net->output_shape(), (Shape{1, 10}));
  EXPECT_EQ(net->name(), "resnet20");
  const std::vector<Module*> layers = net->children();
  EXPECT_EQ(layers[layers.size() - 3]->output_shape(), (Shape{1, 8, 8, 64}));
}

// As in Keras' example, whose resnet_layer has l2(1e-4) on its kernels: not on the last layer's.
TEST(CifarResnet, RegularizesTheKernelsOfItsConvolutions) {
  const auto net = cifar_resnet({.depth = 8, .conv_regularizer = Regularizer::l2(1e-4)});
  net->build({8, 8, 3});
  int penalised = 0;
  for (const Parameter& parameter : net->parameters()) {
    const bool is_kernel = parameter.layout == WeightLayout::conv;
    EXPECT_EQ(parameter.regularizer.l2_factor(), is_kernel ? 1e-4 : 0.0) << parameter.name;
    penalised += is_kernel;
  }
  EXPECT_EQ(penalised, 1 + 6 + 2);
}

TEST(CifarResnet, Trains) {
  Model model(resnet20(), {8, 8, 3}, {.seed = 1});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05}),
                 .loss = std::make_unique<SparseCategoricalCrossentropy>()});
  std::vector<float> pixels;
  for (int i = 0; i < 4 * 8 * 8 * 3; ++i) pixels.push_back(static_cast<float>(std::sin(0.7 * i)));
  const Tensor x = Tensor::from<float>({4, 8, 8, 3}, pixels);
  const Tensor y = Tensor::from<std::int32_t>({4}, {3, 1, 4, 1});
  const double first = model.train_on_batch(x, y);
  double last = first;
  for (int step = 0; step < 4; ++step) last = model.train_on_batch(x, y);
  EXPECT_LT(last, 0.8 * first);
}

TEST(Resnet, HasTheCountsOfTorchvision) {
  // torchvision.models: "num_params" of ResNet18_Weights and ResNet50_Weights. The moving statistics come to
  // two more for each channel of the normalisations: 4,800 and 26,560 channels.
  const ResnetOptions fast{.kernel_initializer = Initializer::zeros};
  EXPECT_EQ(counts(resnet18(fast), 32), (Counts{11'689'512, 11'689'512 + 2 * 4'800}));
  EXPECT_EQ(counts(resnet50(fast), 32), (Counts{25'557'032, 25'557'032 + 2 * 26'560}));
}

TEST(Resnet, ReducesImagesBy32) {
  const auto net = resnet18({.classes = 7, .kernel_initializer = Initializer::zeros});
  net->build({64, 96, 3});
  EXPECT_EQ(net->output_shape(), (Shape{1, 7}));
  const std::vector<Module*> layers = net->children();
  EXPECT_EQ(layers[layers.size() - 3]->output_shape(), (Shape{1, 2, 3, 512}));
}

TEST(Resnet, HasAStemForSmallImages) {
  // The ResNet-18 that is trained on CIFAR-10: 11,173,962 parameters in PyTorch.
  const auto make = [] {
    return resnet18({.classes = 10, .stem = ResnetStem::cifar, .kernel_initializer = Initializer::zeros});
  };
  EXPECT_EQ(counts(make(), 32), (Counts{11'173'962, 11'173'962 + 2 * 4'800}));
  const auto net = make();
  net->build({32, 32, 3});
  const std::vector<Module*> layers = net->children();
  EXPECT_EQ(layers[0]->output_shape(), (Shape{1, 32, 32, 64}));
  EXPECT_EQ(layers[layers.size() - 3]->output_shape(), (Shape{1, 4, 4, 512}));
}

}  // namespace
}  // namespace ronde::test
