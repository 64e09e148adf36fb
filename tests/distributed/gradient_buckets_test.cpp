#include <ronde/distributed/gradient_buckets.h>

#include <functional>

#include <gtest/gtest.h>

#include "distributed/recording_communicator.h"
#include "distributed/small_net.h"
#include "support/message_of.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using Call = std::pair<std::int64_t, std::int64_t>;  // begin, end

// Element ranges of the all-reduces, from their addresses.
std::vector<Call> calls(const ParameterArena& arena, const RecordingCommunicator& c) {
  std::vector<Call> result;
  for (const Tensor& tensor : c.allreduced) {
    const auto begin = tensor.data<double>() - arena.gradients().data<double>();
    result.emplace_back(begin, begin + tensor.count());
  }
  return result;
}

constexpr std::int64_t kBytes = sizeof(double);

TEST(GradientBuckets, AreCutInArenaOrderAndCoverEverything) {
  SmallNet net;
  const ParameterArena arena(net);
  const auto& segments = arena.segments();
  ASSERT_EQ(segments.size(), 6u);
  // A limit of one byte: a bucket for each parameter.
  const auto each = GradientBuckets::plan(arena, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  ASSERT_EQ(each.size(), 6u);
  std::int64_t end = 0;
  for (std::size_t b = 0; b < each.size(); ++b) {
    EXPECT_EQ(each[b].begin, end);
    EXPECT_EQ(each[b].begin, segments[b].offset);
    EXPECT_EQ(each[b].first_segment, b);
    EXPECT_EQ(each[b].last_segment, b + 1);
    end = each[b].end;
  }
  EXPECT_EQ(end, arena.size() + ParameterArena::kExtras);
  EXPECT_EQ(GradientBuckets::plan(arena, {}).size(), 1u);
}

TEST(GradientBuckets, FirstIsSmall) {
  SmallNet net;
  const ParameterArena arena(net);
  const std::int64_t first = arena.segments()[1].offset * kBytes;
  const auto buckets = GradientBuckets::plan(arena, {.first_bucket_bytes = first, .bucket_bytes = 1 << 20});
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].last_segment, 1u);
  EXPECT_EQ(buckets[1].last_segment, 6u);
}

// However large it is: the next bucket might leave at the end of the backward pass only.
TEST(GradientBuckets, EndWithTheParameterThatFillsThem) {
  SmallNet net;
  const ParameterArena arena(net);
  const std::int64_t more = arena.segments()[1].offset * kBytes + 1;
  const auto buckets = GradientBuckets::plan(arena, {.first_bucket_bytes = more, .bucket_bytes = 1 << 20});
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].last_segment, 2u);
}

TEST(GradientBuckets, FrozenParametersDoNotTravel) {
  SmallNet net;
  net.hidden.set_trainable(false);
  const ParameterArena arena(net);
  const auto buckets = GradientBuckets::plan(arena, {});
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].end, arena.trainable_size());
  EXPECT_EQ(buckets[1].begin, arena.size());
  EXPECT_EQ(buckets[1].end, arena.size() + ParameterArena::kExtras);
}

TEST(GradientBuckets, SizesMustBePositive) {
  SmallNet net;
  const ParameterArena arena(net);
  EXPECT_THROW(GradientBuckets::plan(arena, {.first_bucket_bytes = 0}), UsageError);
}

// Buckets leave while backward goes on: when it returns, all but the last (which carries the extras) are
// gone.
TEST(GradientBuckets, LeaveDuringBackwardInOrder) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  const auto plan = GradientBuckets::plan(arena, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  arena.zero_gradients();
  // Whatever order gradients arrive in, bucket k leaves after bucket k - 1.
  std::size_t launched_when_last_ready = 0;
  Variable first_layer = arena.variable(5);
  first_layer.on_grad_ready([&](const Variable&) { launched_when_last_ready = c.allreduced.size(); });
  net.loss(make_samples(0, 4)).backward();
  EXPECT_EQ(c.allreduced.size(), plan.size() - 1);
  EXPECT_GE(launched_when_last_ready, 4u);
  buckets.finish();
  std::vector<Call> expected;
  for (const auto& bucket : plan) expected.emplace_back(bucket.begin, bucket.end);
  EXPECT_EQ(calls(arena, c), expected);
}

TEST(GradientBuckets, UnusedParametersCountAsZero) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  arena.gradients().fill(7.0);  // left over from an earlier step
  arena.zero_gradients();
  buckets.finish();
  EXPECT_EQ(c.allreduced.size(), 6u);
  for (const Segment& segment : arena.segments()) {
    EXPECT_EQ(arena.gradients().view(segment.offset, segment.shape).to_vector<double>(),
              std::vector<double>(static_cast<std::size_t>(segment.count), 0.0))
        << segment.name;
  }
}

TEST(GradientBuckets, NothingLeavesWhileNotSynchronising) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  arena.zero_gradients();
  buckets.set_synchronize(false);
  net.loss(make_samples(0, 4)).backward();
  EXPECT_TRUE(c.allreduced.empty());
  buckets.set_synchronize(true);
  net.loss(make_samples(4, 4)).backward();
  EXPECT_EQ(c.allreduced.size(), 5u);
  buckets.finish();
  EXPECT_EQ(c.allreduced.size(), 6u);
}

TEST(GradientBuckets, SecondBackwardAfterDepartureIsAnError) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  arena.zero_gradients();
  net.loss(make_samples(0, 4)).backward();
  try {
    net.loss(make_samples(4, 4)).backward();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("NoSync"), std::string::npos) << error.what();
  }
}

// A pass that failed halfway has sent buckets; the next one sends all of them.
TEST(GradientBuckets, BeginAnewAfterAPassThatDidNotEnd) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  net.loss(make_samples(0, 4)).backward();
  ASSERT_EQ(c.allreduced.size(), 5u);
  buckets.restart();
  c.allreduced.clear();
  arena.zero_gradients();
  net.loss(make_samples(4, 4)).backward();
  EXPECT_EQ(c.allreduced.size(), 5u);
  buckets.finish();
  EXPECT_EQ(c.allreduced.size(), 6u);
  EXPECT_EQ(c.barriers, 1);
}

// A rank that zeroes its gradients twice has begun two passes, and tells the others; unless it keeps both to
// itself.
TEST(GradientBuckets, BeginAnewAfterAPassWithoutGradients) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {});
  for (int pass = 0; pass < 2; ++pass) {
    arena.zero_gradients();
    buckets.finish();
  }
  buckets.hold();
  for (int times = 0; times < 2; ++times) arena.zero_gradients();
  buckets.release();
  buckets.set_synchronize(false);
  for (int times = 0; times < 2; ++times) arena.zero_gradients();
  buckets.set_synchronize(true);
  arena.zero_gradients();
  EXPECT_EQ(c.barriers, 0);
  for (int times = 1; times < 3; ++times) {
    arena.zero_gradients();
    EXPECT_EQ(c.barriers, times);
  }
  buckets.finish();
  arena.zero_gradients();
  EXPECT_EQ(c.barriers, 2);
}

// Another rank may have come less far in it, and would not be there to begin it anew with.
TEST(GradientBuckets, AbandonAPassWithoutTheOthers) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  net.loss(make_samples(0, 4)).backward();
  buckets.abandon();
  buckets.restart();
  arena.zero_gradients();
  EXPECT_EQ(c.barriers, 0);
  c.allreduced.clear();
  net.loss(make_samples(4, 4)).backward();
  buckets.finish();
  EXPECT_EQ(c.allreduced.size(), 6u);
}

// The operations of ranks that call different things fail on all of them.
TEST(GradientBuckets, AbandonAPassWhoseEndFailed) {
  run_ranks(2, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    GradientBuckets buckets(arena, world, {});
    if (world.rank() == 0)
      EXPECT_THROW(buckets.finish(), CollectiveError);
    else
      EXPECT_THROW(world.barrier().wait(), CollectiveError);
    buckets.abandon();
    arena.zero_gradients();  // nobody is waited for
    buckets.finish();
  });
}

// An operation that is under way until somebody has waited for it, and then throws what it is given.
struct UnderWay final : Work::State {
  explicit UnderWay(std::function<void()> end_in = [] {}) : end(std::move(end_in)) {}
  bool done() override { return is_over; }
  void wait() override {
    is_over = true;
    end();
  }
  bool wait_for(double) override { return is_over; }

  std::function<void()> end;
  bool is_over = false;
};

std::function<void()> error_of_all(const char* message) {
  return [=] { throw CollectiveError(message, ExitStatus::failure, 1); };
}

// Who catches it may write next what those behind the failed one still read.
TEST(GradientBuckets, AnErrorOfAllRanksLeavesNothingUnderWay) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  std::vector<std::shared_ptr<UnderWay>> works;
  for (int b = 0; b < 6; ++b) works.push_back(std::make_shared<UnderWay>());
  works[1]->end = error_of_all("first");
  works[3]->end = error_of_all("second");
  c.states.assign(works.begin(), works.end());
  arena.zero_gradients();
  EXPECT_EQ(message_of<CollectiveError>([&] { buckets.finish(); }), "first");
  for (const auto& work : works) EXPECT_TRUE(work->done());
}

// The others may never come to what is behind it.
TEST(GradientBuckets, AnErrorOfThisRankAloneIsToldAtOnce) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  const auto broken = std::make_shared<UnderWay>([] { throw Error("rank 1 has died"); });
  const auto behind = std::make_shared<UnderWay>();
  c.states = {std::make_shared<UnderWay>(error_of_all("of all")), broken, behind};
  arena.zero_gradients();
  EXPECT_EQ(message_of([&] { buckets.finish(); }), "rank 1 has died");
  EXPECT_FALSE(behind->done());
}

struct Parameters : Module {
  /// One of each, which may be sparse.
  explicit Parameters(const std::vector<bool>& sparse) {
    for (std::size_t i = 0; i < sparse.size(); ++i)
      add_parameter({.name = cat("w", i),
                     .variable = Variable::parameter(
                         Tensor::zeros({2, 4}, {.dtype = DType::f64, .backend = &backend("cpu")})),
                     .sparse_gradient = sparse[i]});
    build({1}, {.dtype = DType::f64, .backend = &backend("cpu")});
  }
  Variable forward(const Variable& x, const Context&) override { return x; }
};

// What stands behind it would not be summed.
TEST(GradientBuckets, ATableOfRowsTravelsAlone) {
  Parameters net({false, false, true, false, false});
  const ParameterArena arena(net);
  const auto buckets = GradientBuckets::plan(arena, {});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].last_segment, 2u);
  EXPECT_EQ(buckets[1].last_segment, 3u);
  EXPECT_EQ(buckets[2].last_segment, 5u);
}

TEST(GradientBuckets, AGradientThatComesTwiceIsOne) {
  Parameters net({false, false, false});
  ParameterArena arena(net);
  RecordingCommunicator c;
  const std::int64_t two = arena.segments()[2].offset * kBytes;
  const GradientBuckets buckets(arena, c, {.first_bucket_bytes = two, .bucket_bytes = two});
  arena.zero_gradients();
  for (int times = 0; times < 2; ++times) sum(arena.variable(0)).backward();
  EXPECT_TRUE(c.allreduced.empty());
  sum(arena.variable(1)).backward();
  EXPECT_EQ(c.allreduced.size(), 1u);
}

TEST(GradientBuckets, HooksOutliveIt) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  { const GradientBuckets buckets(arena, c, {.first_bucket_bytes = 1, .bucket_bytes = 1}); }
  net.loss(make_samples(0, 4)).backward();
  EXPECT_TRUE(c.allreduced.empty());
}

}  // namespace
}  // namespace ronde::test
