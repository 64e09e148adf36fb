#include "training/speed_tuning.h"

#include <algorithm>
#include <array>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/distributed/gradient_buckets.h>
#include <ronde/distributed/values.h>

namespace ronde::inline v0 {
namespace {

/// Updates in one way, one after the other: the first still finds what the other way left, and does not
/// count.
constexpr std::size_t kBlock = 5;

constexpr std::int64_t kMegabyte = 1 << 20;
constexpr std::array<BucketOptions, 4> kOtherBuckets{{{kMegabyte, 4 * kMegabyte},
                                                      {4 * kMegabyte, 64 * kMegabyte},
                                                      {256 << 10, kMegabyte},
                                                      {1LL << 40, 1LL << 40}}};

/// Where buckets end tells them apart: small nets have few places for that.
std::vector<std::int64_t> ends(const ParameterArena& arena, const BucketOptions& options) {
  std::vector<std::int64_t> places;
  for (const GradientBuckets::Bucket& bucket : GradientBuckets::plan(arena, options))
    places.push_back(bucket.end);
  return places;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string bucket_text(const BucketOptions& buckets) {
  if (buckets.bucket_bytes >= 1LL << 40) return "one bucket";
  const auto size = [](std::int64_t bytes) {
    return bytes >= kMegabyte ? cat(bytes / kMegabyte, " MB") : cat(bytes >> 10, " KB");
  };
  return cat("buckets of ", size(buckets.bucket_bytes));
}

}  // namespace

SpeedTuning::SpeedTuning(Model::State& state, const FitOptions& options)
    : state_(state),
      // Deterministic sums take an order, and buckets, of their own.
      has_buckets_(!options.deterministic && state.optimizer->may_set_buckets()),
      threads_(state.backend().threads().size()) {
  if (state.tuned_threads > 0) {
    use_threads(state.tuned_threads);
    return;
  }
  if (has_buckets_) add_bucket_stage();
  add_thread_stage();
  std::erase_if(stages_, [](const Stage& stage) { return stage.tuner.is_done(); });
}

void SpeedTuning::add_bucket_stage() {
  DistributedOptimizer& optimizer = *state_.optimizer;
  std::vector<BucketOptions> ways{optimizer.options().buckets};
  std::vector<std::vector<std::int64_t>> known{ends(*state_.arena, ways.front())};
  for (const BucketOptions& other : kOtherBuckets) {
    std::vector<std::int64_t> places = ends(*state_.arena, other);
    if (std::find(known.begin(), known.end(), places) != known.end()) continue;
    known.push_back(std::move(places));
    ways.push_back(other);
  }
  const int count = static_cast<int>(ways.size());
  stages_.push_back({.ways = count, .use = [&optimizer, ways](int way) {
                       optimizer.set_buckets(ways[static_cast<std::size_t>(way)]);
                     }});
}

/// One less leaves a core to the thread that communicates; half of them, where two share a core.
void SpeedTuning::add_thread_stage() {
  const int all = threads_;
  const int fewest = static_cast<int>(
      allreduce_value(*state_.communicator, static_cast<double>(all), {.op = Reduction::min}).wait());
  const int ways = fewest >= 4 ? 3 : fewest >= 2 ? 2 : 1;  // on all ranks
  stages_.push_back({.ways = ways, .use = [this, all](int way) {
                       use_threads(way == 0 ? all : way == 1 ? all - 1 : all / 2);
                     }});
}

void SpeedTuning::use_threads(int threads) {
  threads_ = threads;
  limit_.reset();
  limit_ = std::make_unique<FewerThreads>(threads);
}

void SpeedTuning::add_step(double seconds, bool has_updated) {
  if (is_done()) return;
  update_seconds_ += seconds;
  if (!has_updated) return;
  block_.push_back(std::exchange(update_seconds_, 0.0));
  if (block_.size() == kBlock) end_block();
}

void SpeedTuning::end_block() {
  block_.erase(block_.begin());
  const double own = median(std::exchange(block_, {}));
  Stage& stage = stages_.front();
  const int before = stage.tuner.way();
  stage.tuner.add(allreduce_value(*state_.communicator, own, {.op = Reduction::max}).wait());
  if (stage.tuner.way() != before) stage.use(stage.tuner.way());
  if (stage.tuner.is_done()) stages_.erase(stages_.begin());
  if (is_done()) state_.tuned_threads = threads_;
}

void SpeedTuning::finish() {
  if (!is_done()) stages_.front().use(0);
}

std::string SpeedTuning::description() const {
  std::string text = to_string(counted(threads_, "thread"));
  if (has_buckets_) text += ", " + bucket_text(state_.optimizer->options().buckets);
  return text;
}

}  // namespace ronde::inline v0
