/// A net that learns CIFAR-10 to 94 % in 9 epochs: whitened patches of 2 x 2 pixels, then three times two
/// convolutions of 3 x 3 with batch normalisation and GELU, 1,971,640 weights and 2,304 moving statistics.
///
///     Model model(cifar10_fast(), {32, 32, 3});
///     prepare_cifar10_fast(model.module(), cifar.train);
///     const Cifar10FastOptions options{.total_steps = 225, .steps_per_epoch = 25};
///     model.compile({.optimizer = cifar10_fast_optimizer(options), ...});
///
/// It takes values from 0 to 1 and gives probabilities. Source, of net, optimizer and all numbers: Jordan,
/// "94% on CIFAR-10 in 3.29 seconds on a single GPU", 2024, in its later form with Muon.
#pragma once

#include <cstdint>
#include <memory>

#include <ronde/data/dataset.h>
#include <ronde/models/callback.h>
#include <ronde/nn/optimizer.h>
#include <ronde/nn/sequential.h>

namespace ronde::inline v0 {

RONDE_API std::unique_ptr<Sequential> cifar10_fast();

/// Gives the first convolution of a built net the kernel that whitens (patch_whitening.h), for the first
/// 5,000 samples, and freezes it. Before `compile`.
RONDE_API void prepare_cifar10_fast(Module& net, const Dataset& train);

struct Cifar10FastOptions {
  double learning_rate = 0.24;        ///< of Muon, for the convolutions; the others' rates follow it
  std::int64_t total_steps = 225;     ///< the rates fall to 0 in a straight line over these
  std::int64_t steps_per_epoch = 25;  ///< the first biases are trained for three epochs
  ClipOptions clip = {};              ///< of each group's gradients
};

/// Its optimizer, for batches of 2,000: OptimizerGroups with Muon and SGD.
RONDE_API std::unique_ptr<Optimizer> cifar10_fast_optimizer(Cifar10FastOptions options = {});

/// For `fit`: leaves out the gradients of the first biases, and all that only they need, once their rate is
/// 0. Changes no weight.
class RONDE_API Cifar10FastFreeze : public Callback {
 public:
  void on_epoch_begin(std::int64_t epoch) override;
};

}  // namespace ronde::inline v0
