#include <ronde/distributed/scaling_model.h>

#include <cmath>

#include <gtest/gtest.h>

#include <ronde/core/error.h>

namespace ronde {
namespace {

const Link kLink{.latency = 5e-6, .seconds_per_byte = 0.32e-9};  // 25 Gb/s

TEST(FitLink, FindsTheLineItIsGiven) {
  std::vector<TimedMessage> messages;
  for (const double bytes : {4.0, 1e3, 1e5, 1e6, 1e8})
    messages.push_back({bytes, kLink.latency + bytes * kLink.seconds_per_byte});
  const Link link = fit_link(messages);
  EXPECT_NEAR(link.latency, kLink.latency, 1e-9);
  EXPECT_NEAR(link.seconds_per_byte, kLink.seconds_per_byte, 1e-15);
}

/// By trying: no other line nearby, of what is not 0, has a smaller sum of squared relative errors.
Link expect_best_link(const std::vector<TimedMessage>& messages) {
  const auto error = [&](double latency, double per_byte) {
    double sum = 0.0;
    for (const auto& [bytes, seconds] : messages)
      sum += std::pow((latency + per_byte * bytes - seconds) / seconds, 2);
    return sum;
  };
  const Link link = fit_link(messages);
  const double best = error(link.latency, link.seconds_per_byte);
  for (const double f : {0.9, 0.99, 1.01, 1.1}) {
    EXPECT_GE(error(link.latency * f, link.seconds_per_byte), best);
    EXPECT_GE(error(link.latency, link.seconds_per_byte * f), best);
  }
  return link;
}

TEST(FitLink, HasTheLeastSquaresOfRelativeErrors) {
  const Link link = expect_best_link({{4, 6e-6}, {1e4, 7e-6}, {1e6, 4e-4}, {1e8, 3e-2}});
  EXPECT_GT(link.latency, 0.0);
  EXPECT_GT(link.seconds_per_byte, 0.0);
}

TEST(FitLink, IsNeverNegative) {
  EXPECT_EQ(expect_best_link({{1e3, 1e-6}, {1e6, 2e-3}}).latency, 0.0);  // faster per byte when small
  const Link flat = expect_best_link({{1e3, 2e-6}, {1e6, 1e-6}});
  EXPECT_EQ(flat.seconds_per_byte, 0.0);
  EXPECT_GT(flat.latency, 0.0);
  EXPECT_THROW(fit_link({{1e3, 1e-6}, {1e3, 2e-6}}), UsageError);
  EXPECT_THROW(fit_link({}), UsageError);
}

/// A ring, message by message: each rank sends a p-th to its neighbour, 2 (p - 1) times.
double simulated_ring(int ranks, double bytes) {
  double seconds = 0.0;
  for (int round = 0; round < 2 * (ranks - 1); ++round)
    seconds += kLink.latency + bytes / ranks * kLink.seconds_per_byte;
  return seconds;
}

/// Halving and doubling on a power of two ranks.
double simulated_rabenseifner(int ranks, double bytes) {
  double seconds = 0.0;
  for (int distance = ranks / 2; distance >= 1; distance /= 2) {
    bytes /= 2;
    seconds += 2 * (kLink.latency + bytes * kLink.seconds_per_byte);  // once to reduce, once to gather
  }
  return seconds;
}

TEST(AllreduceSeconds, AsMessagesAddUp) {
  for (const int ranks : {2, 4, 16, 1024}) {
    for (const double bytes : {4.0, 1e5, 5e6}) {
      EXPECT_NEAR(allreduce_seconds(AllreduceAlgorithm::ring, ranks, bytes, kLink),
                  simulated_ring(ranks, bytes), 1e-9);
      EXPECT_NEAR(allreduce_seconds(AllreduceAlgorithm::rabenseifner, ranks, bytes, kLink),
                  simulated_rabenseifner(ranks, bytes), 1e-9);
    }
  }
  EXPECT_NEAR(allreduce_seconds(AllreduceAlgorithm::ring, 7, 1e6, kLink), simulated_ring(7, 1e6), 1e-9);
  EXPECT_NEAR(allreduce_seconds(AllreduceAlgorithm::recursive_doubling, 5, 0.0, kLink), 3 * kLink.latency,
              1e-12);
}

TEST(AllreduceSeconds, TheFastestIsUsed) {
  // Small: one round per power of two. Large: no byte is sent more often than needed.
  EXPECT_DOUBLE_EQ(allreduce_seconds(1024, 4, kLink),
                   allreduce_seconds(AllreduceAlgorithm::recursive_doubling, 1024, 4, kLink));
  EXPECT_DOUBLE_EQ(allreduce_seconds(1024, 1e8, kLink),
                   allreduce_seconds(AllreduceAlgorithm::rabenseifner, 1024, 1e8, kLink));
  EXPECT_EQ(allreduce_seconds(1, 1e8, kLink), 0.0);
  EXPECT_EQ(allreduce_bytes_per_rank(1, 1e6), 0.0);
  EXPECT_DOUBLE_EQ(allreduce_bytes_per_rank(4, 1e6), 1.5e6);
}

TEST(CutIntoBuckets, SmallFirst) {
  EXPECT_EQ(cut_into_buckets(100, 10, 40), (std::vector<double>{10, 40, 40, 10}));
  EXPECT_EQ(cut_into_buckets(5, 10, 40), std::vector<double>{5});
  EXPECT_TRUE(cut_into_buckets(0).empty());
}

TEST(StepSeconds, BucketsHideBehindTheBackwardPass) {
  const StepCost step{.forward = 1.0, .backward = 2.0, .buckets = {25, 25, 50}};
  const auto per_byte = [](double seconds) { return [seconds](double bytes) { return seconds * bytes; }; };
  // Ready at 1.5, 2 and 3: the last one starts when the backward pass ends.
  EXPECT_DOUBLE_EQ(step_seconds(step, per_byte(0.01)), 3.5);
  // Bound by the network: from 1.5 on, one after the other.
  EXPECT_DOUBLE_EQ(step_seconds(step, per_byte(0.1)), 1.5 + 10.0);
  EXPECT_DOUBLE_EQ(step_seconds(step, per_byte(0.0)), 3.0);
  EXPECT_DOUBLE_EQ(step_efficiency(step, per_byte(0.01)), 3.0 / 3.5);
  EXPECT_DOUBLE_EQ(step_efficiency({.forward = 1.0, .backward = 2.0, .buckets = {}}, per_byte(1.0)), 1.0);
}

}  // namespace
}  // namespace ronde
