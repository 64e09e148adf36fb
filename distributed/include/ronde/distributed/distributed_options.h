/// How ranks train together; the defaults are exact. What each costs: src/exchange/README.md.
///
///     model.compile({..., .distributed = {.local_steps = {.period = 8, .start_step = 1000}}});
#pragma once

#include <cstdint>

#include <ronde/core/error.h>
#include <ronde/distributed/compression.h>

namespace ronde::inline v0 {

/// Gradients leave in buckets, while backward goes on. Horovod's fusion threshold is `bucket_bytes`.
struct BucketOptions {
  std::int64_t first_bucket_bytes = 1 << 20;  ///< small, so that the first all-reduce starts early
  std::int64_t bucket_bytes = 25 << 20;
};

/// What becomes of the ranks' gradients.
enum class Combine {
  average,  ///< over all samples
  /// Maleki et al., "Scaling Distributed Training with Adaptive Summation", arXiv 2006.02924: parameter by
  /// parameter, a and b become (1 - a.b / 2|a|^2) a + (1 - a.b / 2|b|^2) b, which is their sum when they are
  /// orthogonal and their average when they are equal. Ranks combine their mean gradients in pairs, then the
  /// results in pairs; one that has no partner waits for the next round, so any number of ranks will do.
  adasum,
};

/// Local SGD: ranks update by their own gradients alone and average their weights every `period` updates, and
/// whenever an epoch ends or the model is evaluated or saved; then the optimizer's state too.
struct LocalSteps {
  std::int64_t period = 1;      ///< 1: off; every update uses the gradients of all ranks
  std::int64_t start_step = 0;  ///< so many updates are made with the gradients of all ranks first
};

/// Where the optimizer's state is.
enum class StateLayout {
  replicated,  ///< each rank has all of it
  /// ZeRO-1 (Rajbhandari et al., arXiv 1910.02054): a rank sums, updates and keeps the state of its part of
  /// each bucket only, then the new weights are gathered. Files are the same, and weights are bit for bit,
  /// but where gradients are clipped by a norm, of one weight or of all: its sum of squares is rounded
  /// otherwise.
  sharded,
};

struct DistributedOptions {
  BucketOptions buckets = {};
  Compression compression = compression::None{};
  Combine combine = Combine::average;
  LocalSteps local_steps = {};
  StateLayout state = StateLayout::replicated;
};

/// Throws a UsageError when a number or the combination makes no sense.
RONDE_API void check(const DistributedOptions& options);
/// "average of gradients, compression none, ...": all but the buckets; what makes a run the run it is.
RONDE_API std::string to_string(const DistributedOptions& options);

}  // namespace ronde::inline v0
