/// Adam on a small net, for tests of DistributedOptimizer.
#pragma once

#include <memory>
#include <vector>

#include <ronde/distributed/distributed_optimizer.h>
#include <ronde/nn/adam.h>

#include "distributed/small_net.h"

namespace ronde::test {

/// Several of them for a SmallNet.
inline const DistributedOptions kSmallBuckets{.buckets = {.first_bucket_bytes = 64, .bucket_bytes = 256}};

inline std::unique_ptr<Optimizer> make_adam(double rate = 0.01) {
  return std::make_unique<Adam>(AdamOptions{.learning_rate = rate});
}

inline std::vector<double> weights_of(const ParameterArena& arena) {
  return arena.values().view(0, {arena.trainable_size()}).to_vector<double>();
}

}  // namespace ronde::test
