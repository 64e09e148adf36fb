#include <ronde/distributed/scaling_model.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

// Minimises sum(((alpha + beta n - t) / t)^2): the small messages count as much as the large ones.
Link fit_link(const std::vector<TimedMessage>& messages) {
  double w = 0.0, wn = 0.0, wnn = 0.0, wt = 0.0, wnt = 0.0;  // sums of weights 1 / t^2 times what they say
  for (const auto& [bytes, seconds] : messages) {
    require<UsageError>(seconds > 0.0, "[fit_link] expects positive times, got ", seconds);
    const double weight = 1.0 / (seconds * seconds);
    w += weight;
    wn += weight * bytes;
    wnn += weight * bytes * bytes;
    wt += weight * seconds;
    wnt += weight * bytes * seconds;
  }
  const auto [smallest, largest] =
      std::minmax_element(messages.begin(), messages.end(),
                          [](const TimedMessage& a, const TimedMessage& b) { return a.bytes < b.bytes; });
  require<UsageError>(smallest != messages.end() && smallest->bytes < largest->bytes,
                      "[fit_link] expects messages of two sizes or more, got ", messages.size(), " of one");
  const double determinant = w * wnn - wn * wn;
  const Link link{(wnn * wt - wn * wnt) / determinant, (w * wnt - wn * wt) / determinant};
  // At the border the other one alone fits best.
  if (link.latency < 0.0) return {0.0, wnt / wnn};
  if (link.seconds_per_byte < 0.0) return {wt / w, 0.0};
  return link;
}

double allreduce_bytes_per_rank(int ranks, double bytes) {
  return 2.0 * (ranks - 1) / ranks * bytes;
}

double allreduce_seconds(AllreduceAlgorithm algorithm, int ranks, double bytes, const Link& link) {
  require<UsageError>(ranks >= 1, "[allreduce_seconds] expects at least one rank, got ", ranks);
  const int rounds = std::bit_width(static_cast<unsigned>(ranks - 1));  // ceil(log2(ranks))
  const double moving = allreduce_bytes_per_rank(ranks, bytes) * link.seconds_per_byte;
  switch (algorithm) {
    case AllreduceAlgorithm::ring:
      return 2.0 * (ranks - 1) * link.latency + moving;
    case AllreduceAlgorithm::rabenseifner:
      return 2.0 * rounds * link.latency + moving;
    case AllreduceAlgorithm::recursive_doubling:
      break;
  }
  return rounds * (link.latency + bytes * link.seconds_per_byte);
}

double allreduce_seconds(int ranks, double bytes, const Link& link) {
  return std::min({allreduce_seconds(AllreduceAlgorithm::ring, ranks, bytes, link),
                   allreduce_seconds(AllreduceAlgorithm::rabenseifner, ranks, bytes, link),
                   allreduce_seconds(AllreduceAlgorithm::recursive_doubling, ranks, bytes, link)});
}

std::vector<double> cut_into_buckets(double bytes, double first_bucket, double bucket) {
  std::vector<double> buckets;
  for (double size = first_bucket; bytes > 0.0; size = bucket) {
    buckets.push_back(std::min(bytes, size));
    bytes -= buckets.back();
  }
  return buckets;
}

double step_seconds(const StepCost& step, const std::function<double(double bytes)>& allreduce) {
  const double computed = step.forward + step.backward;
  const double bytes = std::accumulate(step.buckets.begin(), step.buckets.end(), 0.0);
  double done = 0.0, ready_bytes = 0.0;
  for (const double bucket : step.buckets) {
    ready_bytes += bucket;
    const double ready = step.forward + step.backward * ready_bytes / bytes;
    done = std::max(done, ready) + allreduce(bucket);
  }
  return std::max(computed, done);
}

double step_efficiency(const StepCost& step, const std::function<double(double bytes)>& allreduce) {
  return (step.forward + step.backward) / step_seconds(step, allreduce);
}

}  // namespace ronde::inline v0
