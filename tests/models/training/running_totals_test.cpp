// Sums of losses and metrics over batches, ranks and interruptions; metrics of many sums among them.
#include "training/running_totals.h"

#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/nn/auc.h>
#include <ronde/nn/binary_metrics.h>

#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

constexpr int kSamples = 24;

double output_of(int sample) {
  return 0.04 * (sample * 7 % kSamples);
}

bool is_meant(int sample) {
  return sample % 3 == 0 || output_of(sample) > 0.7;
}

/// Losses 1, 2, 3, ...: the mean is known.
void add(RunningTotals& totals, int sample) {
  const auto scalar = [](double value) { return Tensor::from<double>({1, 1}, {value}, &backend("cpu")); };
  totals.add({Tensor::full({}, sample + 1.0, {.dtype = DType::f64, .backend = &backend("cpu")}),
              scalar(output_of(sample)), scalar(is_meant(sample) ? 1.0 : 0.0)});
}

/// The area under the curve is the share of pairs of a meant and another sample that are in order.
double share_of_pairs_in_order() {
  int pairs = 0, in_order = 0;
  for (int a = 0; a < kSamples; ++a)
    for (int b = 0; b < kSamples; ++b)
      if (is_meant(a) && !is_meant(b)) {
        ++pairs;
        in_order += output_of(a) > output_of(b) ? 1 : 0;
      }
  return static_cast<double>(in_order) / pairs;
}

double precision() {
  int said = 0, right = 0;
  for (int sample = 0; sample < kSamples; ++sample)
    if (output_of(sample) > 0.5) {
      ++said;
      right += is_meant(sample) ? 1 : 0;
    }
  return static_cast<double>(right) / said;
}

std::vector<std::shared_ptr<Metric>> some_metrics() {
  return {std::make_shared<AUC>(), std::make_shared<Precision>()};
}

void expect_whole(const Totals& totals) {
  EXPECT_DOUBLE_EQ(totals.loss(), (kSamples + 1) / 2.0);
  EXPECT_EQ(totals.samples, kSamples);
  ASSERT_EQ(totals.metrics.size(), 2u);
  const auto value = [&](std::size_t i) { return totals.metrics[i].first->value(totals.metrics[i].second); };
  EXPECT_DOUBLE_EQ(value(0), share_of_pairs_in_order());
  EXPECT_DOUBLE_EQ(value(1), precision());
}

TEST(RunningTotals, OfSeveralRanksAreThoseOfOne) {
  for (const int ranks : {1, 3, 5})
    test::run_ranks(ranks, [&](Communicator& world) {
      const auto metrics = some_metrics();
      RunningTotals totals(backend("cpu"), metrics);
      for (int sample = world.rank(); sample < kSamples; sample += ranks) add(totals, sample);
      expect_whole(totals.reduced(world));
    });
}

TEST(RunningTotals, GoOnFromPlainNumbersOnAnotherNumberOfRanks) {
  std::vector<std::vector<double>> rows;
  test::run_ranks(3, [&](Communicator& world) {
    const auto metrics = some_metrics();
    RunningTotals totals(backend("cpu"), metrics);
    for (int sample = world.rank(); sample < 13; sample += 3) add(totals, sample);
    const auto gathered = totals.gathered(world);
    if (world.rank() == 0) rows = gathered;
  });
  test::run_ranks(2, [&](Communicator& world) {
    const auto metrics = some_metrics();
    RunningTotals totals(backend("cpu"), metrics);
    totals.restore(rows, world);
    for (int sample = 13 + world.rank(); sample < kSamples; sample += 2) add(totals, sample);
    expect_whole(totals.reduced(world));
  });
}

TEST(RunningTotals, OfVirtualShardsAreThoseOfOneRank) {
  test::run_ranks(2, [&](Communicator& world) {
    const auto metrics = some_metrics();
    const VirtualShards shards(4, world.rank(), world.size());
    RunningTotals totals(backend("cpu"), metrics, shards);
    for (int shard = shards.first; shard < shards.last; ++shard) {
      for (int sample = shard; sample < kSamples; sample += 4) add(totals, sample);
      totals.close_shard(shard);
    }
    expect_whole(totals.reduced(world));
  });
}

TEST(RunningTotals, ForgetWhatWasAddedSinceAMarkAndKeepWhatMetricsHeldWhenLent) {
  const auto metrics = some_metrics();
  RunningTotals totals(backend("cpu"), metrics);
  for (int sample = 0; sample < 10; ++sample) add(totals, sample);
  const RunningTotals::Mark mark = totals.mark();
  for (int sample = 3; sample < 9; ++sample) add(totals, sample);
  totals.return_to(mark);
  totals.lend_metrics();
  metrics[0]->update(Tensor::full({5}, 0.3), Tensor::full({5}, 1.0));  // somebody else's
  metrics[0]->reset();
  for (int sample = 10; sample < kSamples; ++sample) add(totals, sample);
  expect_whole(totals.local());
}

TEST(RunningTotals, RefuseNumbersOfOtherMetrics) {
  test::run_ranks(1, [&](Communicator& world) {
    const auto metrics = some_metrics();
    RunningTotals totals(backend("cpu"), metrics);
    EXPECT_THROW(totals.restore({{1.0, 2.0, 3.0, 4.0}}, world), Error);
    EXPECT_THROW(totals.restore({}, world), InputError);
  });
}

}  // namespace
}  // namespace ronde::test
