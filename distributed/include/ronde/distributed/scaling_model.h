/// What a training step on many ranks should take: the alpha-beta model of networks and the overlap of
/// gradients with the backward pass.
///
///     const Link link{.latency = 5e-6, .seconds_per_byte = 8.0 / 25e9};        // 25 Gb/s
///     const StepCost step{.forward = 7e-3, .backward = 14e-3, .buckets = cut_into_buckets(4.8e6)};
///     const auto exchange = [&](double bytes) { return allreduce_seconds(1000, bytes, link); };
///     const double seconds = step_seconds(step, exchange);
///
/// Assumes that every rank has its own link in both directions at once, that messages do not disturb each
/// other, that all ranks compute equally long, that adding costs nothing beside moving, and that
/// communication takes no time from computing. Real machines are slower; one that is much slower is worth a
/// look.
#pragma once

#include <functional>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// A message of b bytes takes latency + b * seconds_per_byte.
struct Link {
  double latency = 0.0;           ///< alpha, seconds
  double seconds_per_byte = 0.0;  ///< beta
};

struct TimedMessage {
  double bytes = 0.0;
  double seconds = 0.0;
};

/// The latency and the time per byte with the least squared relative errors over these; none is negative.
/// UsageError without two different sizes.
RONDE_API Link fit_link(const std::vector<TimedMessage>& messages);

enum class AllreduceAlgorithm { ring, rabenseifner, recursive_doubling };

/// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005). Seconds
/// with p ranks and n bytes:
///   ring                2 (p - 1) alpha + 2 (p - 1) / p n beta
///   rabenseifner        2 ceil(log2 p) alpha + 2 (p - 1) / p n beta
///   recursive_doubling  ceil(log2 p) (alpha + n beta)
RONDE_API double allreduce_seconds(AllreduceAlgorithm algorithm, int ranks, double bytes, const Link& link);
/// The fastest of them.
RONDE_API double allreduce_seconds(int ranks, double bytes, const Link& link);

/// What each rank has to send at least, and to receive: 2 (p - 1) / p n.
RONDE_API double allreduce_bytes_per_rank(int ranks, double bytes);

/// One rank's step.
struct StepCost {
  double forward = 0.0;         ///< seconds
  double backward = 0.0;        ///< seconds
  std::vector<double> buckets;  ///< bytes of gradients, in the order in which they leave
};

/// As GradientBuckets cuts gradients, but for the ends of parameters.
RONDE_API std::vector<double> cut_into_buckets(double bytes, double first_bucket = 1 << 20,
                                               double bucket = 25 << 20);

/// Until the last gradient is summed. A bucket is ready when the backward pass has got as far as its end, by
/// share of bytes; buckets are reduced one after the other.
RONDE_API double step_seconds(const StepCost& step, const std::function<double(double bytes)>& allreduce);

/// Speed of a rank beside that of a rank alone, 0 to 1.
RONDE_API double step_efficiency(const StepCost& step, const std::function<double(double bytes)>& allreduce);

}  // namespace ronde::inline v0
