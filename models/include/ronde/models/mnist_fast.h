/// A small net that learns MNIST to 99 % in less than one pass over the data: two convolutions of 3 x 3 with
/// pooling, batch normalisation and ReLU, two dense layers.
///
///     Model model(mnist_fast(), {28, 28, 1});
///     model.compile({.optimizer = mnist_fast_optimizer({.total_steps = 140}), ...});
///
/// It takes values from 0 to 1 and gives probabilities. Source of the shape, pooling before what follows, and
/// one cycle of the rate with an Adam of short memory: tuomaso's train_mnist_fast. Muon for all kernels and
/// smoothed labels are what shortened it from a whole epoch.
#pragma once

#include <cstdint>
#include <memory>

#include <ronde/nn/optimizer.h>
#include <ronde/nn/sequential.h>

namespace ronde::inline v0 {

RONDE_API std::unique_ptr<Sequential> mnist_fast();

struct MnistFastOptions {
  double learning_rate = 0.05;     ///< of Muon, for the kernels; Adam's, for the rest, is a tenth of it
  std::int64_t total_steps = 140;  ///< of the one cycle that both rates go through
  ClipOptions clip = {};           ///< of each group's gradients
};

/// Its optimizer: OptimizerGroups with Muon and Adam.
RONDE_API std::unique_ptr<Optimizer> mnist_fast_optimizer(MnistFastOptions options = {});

}  // namespace ronde::inline v0
