#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/data/patch_whitening.h>
#include <ronde/models/cifar10_fast.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/muon.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/schedule.h>
#include <ronde/nn/sgd.h>

#include "zoo/torch_uniform.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kWhiten = "whiten";
constexpr std::int64_t kWhitenSide = 2;
constexpr std::int64_t kWhitenedSamples = 5000;
constexpr std::int64_t kWhitenEpochs = 3;  // that the biases of the whitening layer are trained

/// To mean 0 and deviation 1 over the training pictures.
Rescaling normalized() {
  const std::vector<double> mean{0.4914, 0.4822, 0.4465}, deviation{0.2470, 0.2435, 0.2616};
  RescalingOptions options{.scale = {}, .offset = {}, .name = "normalize"};
  for (std::size_t c = 0; c < mean.size(); ++c) {
    options.scale.push_back(1.0 / deviation[c]);
    options.offset.push_back(-mean[c] / deviation[c]);
  }
  return Rescaling(options);
}

Conv2D convolution(std::int64_t filters) {
  return Conv2D({.filters = filters,
                 .padding = Padding::same,
                 .use_bias = false,
                 .kernel_initializer = Initializer::identity(torch_uniform())});
}

void add_norm(Sequential& net) {
  // 0.6 for batches of 2,000, of which the recipe makes four micro-batches: 0.6^(1/4).
  net.add(BatchNormalization({.momentum = 0.88, .epsilon = 1e-12, .scale = false}));
  net.add(Activation(Activation::gelu));
}

void add_group(Sequential& net, std::int64_t filters) {
  net.add(convolution(filters));
  net.add(MaxPooling2D());
  add_norm(net);
  net.add(convolution(filters));
  add_norm(net);
}

/// SGD for what is neither kernel nor frozen. The rates were found for losses summed over 2,000 samples,
/// with 0.004 / rate of each weight added to that sum's gradient.
SGD sgd(double rate, const Cifar10FastOptions& options, double last_step) {
  constexpr double kBatch = 2000.0;
  const double scale = options.learning_rate / Cifar10FastOptions().learning_rate;
  SGD result({.learning_rate = rate * scale * kBatch,
              .momentum = 0.85,
              .nesterov = true,
              .l2 = 0.004 / (rate * kBatch),
              .clip = options.clip});
  result.set_schedule(std::make_shared<PolynomialDecay>(
      PolynomialDecayOptions{.initial_rate = 1.0, .decay_steps = last_step, .end_rate = 0.0}));
  return result;
}

/// (count, h, w, c)
Tensor first_images(const Dataset& data, std::int64_t count) {
  std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  const auto make = [&](const Shape& sample, DType dtype) {
    return Tensor::empty(sample.batch_of(count), {.dtype = dtype, .backend = &backend("cpu")});
  };
  const Tensor images = make(data.input_shape(), DType::f32);
  data.read(samples, images, make(data.target_shape(), data.target_dtype()));
  return images;
}

}  // namespace

std::unique_ptr<Sequential> cifar10_fast() {
  auto net = std::make_unique<Sequential>();
  net->add(normalized());
  const double limit = 1.0 / std::sqrt(3.0 * kWhitenSide * kWhitenSide);
  net->add(Conv2D({.filters = 6 * kWhitenSide * kWhitenSide,
                   .kernel = {kWhitenSide, kWhitenSide},
                   .bias_initializer = Initializer::random_uniform(-limit, limit),
                   .name = kWhiten}));
  net->add(Activation(Activation::gelu));
  for (const std::int64_t filters : {64, 256, 256}) add_group(*net, filters);
  net->add(MaxPooling2D({.pool = {3, 3}}));
  net->add(Flatten());
  const double unit = std::sqrt(3.0);  // deviation 1
  net->add(Dense(
      {.units = 10, .use_bias = false, .kernel_initializer = Initializer::random_uniform(-unit, unit)}));
  net->add(Rescaling({.scale = {1.0 / 256.0}}));
  net->add(Activation(Activation::softmax));
  return net;
}

void prepare_cifar10_fast(Module& net, const Dataset& train) {
  const Tensor images = first_images(train, std::min(kWhitenedSamples, train.size()));
  Rescaling normalize = normalized();
  normalize.build(train.input_shape(), {.backend = &backend("cpu")});
  const Tensor kernel = patch_whitening_kernel(normalize(images).value(), {.kernel = kWhitenSide});
  for (Parameter& weight : net.parameters()) {
    if (weight.name != cat(kWhiten, "/kernel")) continue;
    weight.variable.value().copy_from(kernel.to(weight.variable.value().backend()));
    weight.variable.set_requires_grad(false);
  }
}

std::unique_ptr<Optimizer> cifar10_fast_optimizer(Cifar10FastOptions options) {
  const auto total = static_cast<double>(options.total_steps);
  const double whitening = std::min(total, static_cast<double>(kWhitenEpochs * options.steps_per_epoch));
  Muon muon({.learning_rate = options.learning_rate,
             .momentum = 0.6,
             .ns_steps = 3,
             .normalize_weights = true,
             .clip = options.clip});
  muon.set_schedule(std::make_shared<PolynomialDecay>(
      PolynomialDecayOptions{.initial_rate = 1.0, .decay_steps = total, .end_rate = 0.0}));
  return std::make_unique<OptimizerGroups>(
      optimizer_group("conv2d*/kernel", std::move(muon)),
      optimizer_group(cat(kWhiten, "/bias"), sgd(0.053, options, whitening)),
      optimizer_group("*/beta", sgd(0.053, options, total)),
      optimizer_group("*/kernel", sgd(0.67, options, total)));
}

void Cifar10FastFreeze::on_epoch_begin(std::int64_t epoch) {
  if (epoch < kWhitenEpochs) return;
  for (Parameter& weight : model().module().parameters())
    if (weight.name == cat(kWhiten, "/bias")) weight.variable.set_requires_grad(false);
}

}  // namespace ronde::inline v0
