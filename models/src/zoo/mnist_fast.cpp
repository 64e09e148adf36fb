#include <ronde/models/mnist_fast.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/muon.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/schedule.h>

#include "zoo/torch_uniform.h"

namespace ronde::inline v0 {

namespace {

/// Pooled first, so that the rest has a quarter of the work.
void add_pooled_convolution(Sequential& net, std::int64_t filters) {
  net.add(Conv2D({.filters = filters, .use_bias = false, .kernel_initializer = torch_uniform()}));
  net.add(MaxPooling2D());
  net.add(BatchNormalization({.momentum = 0.8, .epsilon = 1e-5, .scale = false}));
  net.add(Activation(Activation::relu));
}

}  // namespace

std::unique_ptr<Sequential> mnist_fast() {
  constexpr double kMean = 0.1307, kDeviation = 0.3081;  // of the training pictures
  auto net = std::make_unique<Sequential>();
  net->add(Rescaling({.scale = {1.0 / kDeviation}, .offset = {-kMean / kDeviation}, .name = "normalize"}));
  for (const std::int64_t filters : {16, 32}) add_pooled_convolution(*net, filters);
  net->add(Flatten());
  net->add(Dense({.units = 64, .activation = Activation::relu, .kernel_initializer = torch_uniform()}));
  net->add(Dense({.units = 10, .kernel_initializer = torch_uniform()}));
  net->add(Activation(Activation::softmax));
  return net;
}

std::unique_ptr<Optimizer> mnist_fast_optimizer(MnistFastOptions options) {
  const auto cycle =
      std::make_shared<OneCycle>(OneCycleOptions{.peak_rate = 1.0, .total_steps = options.total_steps});
  Muon muon({.learning_rate = options.learning_rate, .momentum = 0.8, .ns_steps = 3, .clip = options.clip});
  Adam adam(
      {.learning_rate = 0.1 * options.learning_rate, .beta_1 = 0.7, .beta_2 = 0.9, .clip = options.clip});
  muon.set_schedule(cycle);
  adam.set_schedule(cycle);
  return std::make_unique<OptimizerGroups>(optimizer_group("*/kernel", std::move(muon)),
                                           optimizer_group("*", std::move(adam)));
}

}  // namespace ronde::inline v0
