// What DistributedOptimizer does with its options: training, not single exchanges (these: exchange/).
#include <ronde/distributed/distributed_optimizer.h>

#include <cmath>

#include <gtest/gtest.h>
#include <ronde/nn/adagrad.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/sgd.h>

#include "distributed/node_ranks.h"
#include "distributed/recording_communicator.h"
#include "distributed/small_net.h"
#include "exchange/gradient_exchange.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;
const BucketOptions kSmall{.first_bucket_bytes = 64, .bucket_bytes = 256};

std::unique_ptr<Optimizer> sgd(double rate = 0.05) {
  return std::make_unique<SGD>(SGDOptions{.learning_rate = rate, .momentum = 0.9});
}

std::vector<double> weights_of(const ParameterArena& arena) {
  return arena.values().view(0, {arena.trainable_size()}).to_vector<double>();
}

// A rank that trains; its share of a batch of `batch` samples is every size-th.
struct Rank {
  SmallNet net;
  ParameterArena arena{net};
  Communicator& world;
  DistributedOptimizer optimizer;

  Rank(Communicator& world_in, std::unique_ptr<Optimizer> inner, DistributedOptions options)
      : world(world_in), optimizer(std::move(inner), world_in, std::move(options)) {
    optimizer.attach(arena);
  }
  void step(int number, std::int64_t samples, std::int64_t batch) {
    arena.zero_gradients();
    if (samples > 0) net.loss(make_samples(number * batch + world.rank() * (batch / 8), samples)).backward();
    optimizer.step({.samples = samples});
  }
};

void expect_near_all(const std::vector<double>& actual, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], bound) << i;
}

std::string error_of(const DistributedOptions& options) {
  try {
    check(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(DistributedOptions, SayWhatIsWrong) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_NE(error_of({.buckets = {.bucket_bytes = 0}}).find("bucket sizes"), std::string::npos);
  EXPECT_NE(error_of({.compression = compression::TopK{0.0}}).find("ratio"), std::string::npos);
  EXPECT_NE(error_of({.compression = compression::PowerSgd{0}}).find("rank"), std::string::npos);
  EXPECT_NE(error_of({.local_steps = {.period = 0}}).find("period"), std::string::npos);
  EXPECT_NE(error_of({.compression = compression::Bf16{}, .state = StateLayout::sharded})
                .find("average, compression bf16, sharded optimizer state"),
            std::string::npos);
  EXPECT_NE(error_of({.local_steps = {.period = 4}, .state = StateLayout::sharded}), "");
  EXPECT_EQ(error_of({.compression = compression::TopK{}, .local_steps = {.period = 4}}), "");
}

TEST(DistributedOptions, MustAgree) {
  run_ranks(2, [](Communicator& world) {
    DistributedOptions options{.compression = compression::TopK{world.rank() == 0 ? 0.1 : 0.2}};
    try {
      Rank rank(world, sgd(), options);
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_NE(std::string(error.what()).find("top-k(0.2)"), std::string::npos) << error.what();
    }
  });
}

// --- overlap

TEST(DistributedOptions, CompressedBucketsLeaveDuringBackward) {
  SmallNet net;
  ParameterArena arena(net);
  RecordingCommunicator c;
  const DistributedOptions options{.buckets = kSmall, .compression = compression::PowerSgd{}};
  GradientBuckets buckets(arena, c, kSmall, make_exchange(arena, c, options));
  const std::size_t count = GradientBuckets::plan(arena, kSmall).size();
  ASSERT_GT(count, 2u);
  net.loss(make_samples(0, 4)).backward();
  EXPECT_EQ(c.allreduced.size(), count - 1);  // each a single sum: these matrices are too small to compress
  buckets.finish();
  EXPECT_EQ(c.allreduced.size(), count + 1);  // and the number of samples
}

// Adasum needs to know the samples: without, buckets leave at the end; the result is the same.
TEST(DistributedOptions, AdasumIsTheSameWithAndWithoutOverlap) {
  run_ranks(3, [](Communicator& world) {
    std::vector<std::vector<double>> weights;
    for (const bool is_expected : {true, false}) {
      Rank rank(world, sgd(), {.buckets = kSmall, .combine = Combine::adasum});
      for (int s = 0; s < 3; ++s) {
        const std::int64_t samples = 2 + world.rank();
        if (is_expected) rank.optimizer.expect({.samples = samples});
        rank.step(s, samples, 40);
      }
      weights.push_back(weights_of(rank.arena));
    }
    EXPECT_EQ(weights[0], weights[1]);
  });
}

TEST(DistributedOptions, LeftoversAreLostByABroadcastOnly) {
  run_ranks(2, [](Communicator& world) {
    Rank rank(world, sgd(), {.buckets = kSmall, .compression = compression::TopK{0.5}});
    EXPECT_FALSE(rank.optimizer.has_lost_memory()) << "there were none";
    rank.step(0, 2, 40);
    EXPECT_FALSE(rank.optimizer.has_lost_memory());
    rank.optimizer.broadcast_state(rank.optimizer.optimizer().slots());
    EXPECT_TRUE(rank.optimizer.has_lost_memory());
    rank.step(1, 2, 40);
    EXPECT_FALSE(rank.optimizer.has_lost_memory());
  });
}

// What a rank sent in a step that updates nothing comes with later ones, as it does without such a step.
TEST(DistributedOptions, LeftoversSurviveStepsWithoutSamples) {
  const auto weights_with = [](Communicator& world, const Compression& compression, int empty) {
    Rank rank(world, std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05}), {kSmall, compression});
    rank.step(0, 2, 40);
    for (int s = 0; s < empty; ++s) rank.step(s, 0, 40);
    for (int s = 0; s < 200; ++s) {  // until nothing is left
      rank.arena.zero_gradients();
      rank.optimizer.step({.samples = 2});
    }
    return weights_of(rank.arena);
  };
  run_ranks(3, [&](Communicator& world) {
    for (const Compression& way :
         {Compression(compression::TopK{0.3}), Compression(compression::PowerSgd{1})})
      expect_near_all(weights_with(world, way, 2), weights_with(world, way, 0), 1e-9);
  });
}

// --- sharded state

// Adam's state in parts gives the same bits as whole; so do clipping and unequal, empty and odd shares.
void expect_sharding_changes_nothing(int ranks, const MakeOptimizer& make, double bound) {
  const auto train = [&](Communicator& world) {
    Rank whole(world, make(), {.buckets = kSmall});
    Rank sharded(world, make(), {.buckets = kSmall, .state = StateLayout::sharded});
    for (int s = 0; s < 4; ++s) {
      const std::int64_t samples = (world.rank() + s) % 3;
      whole.step(s, samples, 40);
      sharded.step(s, samples, 40);
    }
    expect_near_all(weights_of(sharded.arena), weights_of(whole.arena), bound);
    const auto slots = sharded.optimizer.gather_slots();
    const auto expected = whole.optimizer.gather_slots();
    ASSERT_EQ(slots.size(), expected.size());
    for (std::size_t i = 0; world.rank() == 0 && i < slots.size(); ++i) {
      EXPECT_EQ(slots[i].name, expected[i].name);
      expect_near_all(slots[i].values.to_vector<double>(), expected[i].values.to_vector<double>(), bound);
    }
  };
  run_ranks(ranks, train);
  run_node_ranks(ranks, train);  // which read each other's weights where they lie
}

std::unique_ptr<Optimizer> clipped(const ClipOptions& clip) {
  return std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01, .amsgrad = true, .clip = clip});
}

TEST(ShardedState, GivesTheSameBits) {
  for (const int ranks : {2, 3, 4, 8})
    expect_sharding_changes_nothing(
        ranks, [] { return clipped({}); }, 0.0);
  expect_sharding_changes_nothing(
      3, [] { return sgd(); }, 0.0);
  // Groups of which a rank has parts of several buckets.
  expect_sharding_changes_nothing(
      3,
      [] {
        return std::make_unique<OptimizerGroups>(
            optimizer_group("*/bias", SGD({.learning_rate = 0.1, .momentum = 0.9})),
            optimizer_group("*", Adam({.learning_rate = 0.01})));
      },
      0.0);
  // Its state does not begin with zeros.
  expect_sharding_changes_nothing(
      2, [] { return std::make_unique<Adagrad>(); }, 0.0);
}

TEST(ShardedState, NormsAreThoseOfAllGradients) {
  for (const int ranks : {2, 3}) {
    expect_sharding_changes_nothing(
        ranks, [] { return clipped({.norm = 0.05}); }, 1e-13);
    expect_sharding_changes_nothing(
        ranks, [] { return clipped({.global_norm = 0.05}); }, 1e-13);
    expect_sharding_changes_nothing(
        ranks, [] { return clipped({.value = 0.01}); }, 0.0);
  }
}

struct FourByFour : Module {
  Dense dense{{.units = 4, .use_bias = false}};
  FourByFour() {
    add_module("dense", dense);
    build({4}, {.seed = 1, .dtype = DType::f64, .backend = &backend("cpu")});
  }
  Variable forward(const Variable& x, const Context& context) override { return dense(x, context); }
};

// 16 weights without padding behind them: of three ranks the last updates five, which the others get from it.
TEST(ShardedState, WhatIsLeftOverIsAWeightToo) {
  run_ranks(3, [](Communicator& world) {
    std::vector<std::vector<double>> weights;
    for (const StateLayout layout : {StateLayout::replicated, StateLayout::sharded}) {
      FourByFour net;
      ParameterArena arena(net);
      ASSERT_EQ(arena.trainable_size(), 16);
      DistributedOptimizer optimizer(clipped({}), world, {.state = layout});
      optimizer.attach(arena);
      for (int s = 0; s < 2; ++s) {
        arena.zero_gradients();
        sum(square(net(make_samples(3 * s + world.rank(), 2).x.slice(1, 0, 4)))).backward();
        optimizer.step({.samples = 2});
      }
      weights.push_back(weights_of(arena));
    }
    EXPECT_EQ(weights[1], weights[0]);
  });
}

TEST(ShardedState, IsAsLargeAsItsPart) {
  run_ranks(4, [](Communicator& world) {
    Rank rank(world, clipped({}), {.buckets = kSmall, .state = StateLayout::sharded});
    for (const OptimizerSlot& slot : rank.optimizer.optimizer().slots())
      EXPECT_EQ(slot.values.count(), rank.arena.trainable_size() / 4);
  });
}

TEST(ShardedState, ComesBackFromRankZero) {
  run_ranks(3, [](Communicator& world) {
    Rank first(world, clipped({}), {.buckets = kSmall, .state = StateLayout::sharded});
    for (int s = 0; s < 3; ++s) first.step(s, 2, 40);
    Rank second(world, clipped({}), {.buckets = kSmall, .state = StateLayout::sharded});
    second.arena.values().copy_from(first.arena.values());
    const std::vector<OptimizerSlot> slots = first.optimizer.gather_slots();
    if (world.rank() == 0) second.optimizer.optimizer().set_iterations(3);
    second.optimizer.broadcast_state(world.rank() == 0 ? slots : std::vector<OptimizerSlot>());
    for (int s = 3; s < 5; ++s) {
      first.step(s, 2, 40);
      second.step(s, 2, 40);
    }
    EXPECT_EQ(weights_of(second.arena), weights_of(first.arena));
  });
}

// --- local steps

// Every rank alone, and averages of weights by samples; in one place.
class LocalOracle {
 public:
  explicit LocalOracle(int ranks) : samples_(static_cast<std::size_t>(ranks), 0.0) {
    for (int r = 0; r < ranks; ++r) {
      nets_.push_back(std::make_unique<SmallNet>());
      arenas_.push_back(std::make_unique<ParameterArena>(*nets_.back()));
      optimizers_.push_back(std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05}));
      optimizers_.back()->attach(*arenas_.back());
    }
  }
  void step(int number, std::int64_t batch, const std::function<std::int64_t(int)>& share) {
    for (std::size_t r = 0; r < nets_.size(); ++r) {
      const std::int64_t samples = share(static_cast<int>(r));
      if (samples == 0) continue;
      arenas_[r]->zero_gradients();
      nets_[r]
          ->loss(make_samples(number * batch + static_cast<std::int64_t>(r) * (batch / 8), samples))
          .backward();
      optimizers_[r]->step(1.0 / static_cast<double>(samples));
      samples_[r] += static_cast<double>(samples);
    }
  }
  std::vector<double> average() {
    std::vector<double> sum(weights_of(*arenas_[0]).size(), 0.0);
    double total = 0.0;
    for (std::size_t r = 0; r < nets_.size(); ++r) {
      const std::vector<double> weights = weights_of(*arenas_[r]);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += samples_[r] * weights[i];
      total += samples_[r];
      samples_[r] = 0.0;
    }
    for (double& weight : sum) weight /= total;
    for (const auto& arena : arenas_)
      arena->values()
          .view(0, {arena->trainable_size()})
          .copy_from(Tensor::from<double>({static_cast<std::int64_t>(sum.size())}, sum, &backend("cpu")));
    return sum;
  }

 private:
  std::vector<std::unique_ptr<SmallNet>> nets_;
  std::vector<std::unique_ptr<ParameterArena>> arenas_;
  std::vector<std::unique_ptr<SGD>> optimizers_;
  std::vector<double> samples_;
};

TEST(LocalSteps, AverageTheWeightsOfRanksThatTrainAlone) {
  for (const int ranks : {2, 3, 4}) {
    run_ranks(ranks, [&](Communicator& world) {
      LocalOracle oracle(ranks);
      Rank rank(world, std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05}),
                {.buckets = kSmall, .local_steps = {.period = 3}});
      // Rank 0 has four times the samples of another, so an average of ranks would be another one.
      const auto share = [](int s) { return [s](int r) { return std::int64_t{r == 0 ? 4 : (r + s) % 3}; }; };
      for (int s = 0; s < 8; ++s) {
        rank.step(s, share(s)(world.rank()), 40);
        oracle.step(s, 40, share(s));
        if (s % 3 == 2) expect_near_all(weights_of(rank.arena), oracle.average(), 1e-13);
      }
      rank.optimizer.synchronize();
      expect_near_all(weights_of(rank.arena), oracle.average(), 1e-13);
      EXPECT_EQ(rank.optimizer.optimizer().iterations(), 8);
    });
  }
}

TEST(LocalSteps, BeginLaterAndSynchronizeTheStateToo) {
  run_ranks(2, [](Communicator& world) {
    Rank plain(world, sgd(), {.buckets = kSmall});
    Rank rank(world, sgd(), {.buckets = kSmall, .local_steps = {.period = 4, .start_step = 3}});
    const auto is_same_on_both = [&](const Tensor& values) {
      const Tensor zero = values.clone();
      world.broadcast(zero, 0).wait();
      std::vector<double> same{zero.to_vector<double>() == values.to_vector<double>() ? 1.0 : 0.0};
      allreduce_values(world, same);
      return same[0] == 2.0;
    };
    for (int s = 0; s < 3; ++s) {
      plain.step(s, 3, 40);
      rank.step(s, 3, 40);
    }
    EXPECT_EQ(weights_of(rank.arena), weights_of(plain.arena));
    for (int s = 3; s < 5; ++s) rank.step(s, 3, 40);
    const Tensor momentum = rank.optimizer.optimizer().slots()[0].values;
    EXPECT_FALSE(is_same_on_both(rank.arena.values()));
    EXPECT_FALSE(is_same_on_both(momentum));
    rank.optimizer.synchronize();
    EXPECT_TRUE(is_same_on_both(rank.arena.values()));
    EXPECT_TRUE(is_same_on_both(momentum));
    const std::vector<double> before = weights_of(rank.arena);
    rank.optimizer.synchronize();
    EXPECT_EQ(weights_of(rank.arena), before);
  });
}

TEST(LocalSteps, OfNoSamplesAtAllLeaveTheWeights) {
  run_ranks(2, [](Communicator& world) {
    Rank rank(world, sgd(), {.buckets = kSmall, .local_steps = {.period = 2}});
    const std::vector<double> before = weights_of(rank.arena);
    for (int s = 0; s < 2; ++s) rank.step(s, 0, 40);
    EXPECT_EQ(weights_of(rank.arena), before);
  });
}

TEST(LocalSteps, CountTheSamplesOfAllRanksThatWereExpected) {
  run_ranks(2, [](Communicator& world) {
    Rank rank(world, sgd(), {.buckets = kSmall, .local_steps = {.period = 4}});
    const std::int64_t own = 3 - world.rank();
    rank.arena.zero_gradients();
    rank.optimizer.expect({.samples = own, .of_all_ranks = 5});
    EXPECT_EQ(rank.optimizer.step({.samples = own}), 5);
    EXPECT_EQ(rank.optimizer.step({.samples = 3}), 6) << "what else, if nothing is known";
  });
}

TEST(LocalSteps, SendOncePerPeriod) {
  run_ranks(2, [](Communicator& world) {
    Rank rank(world, sgd(), {.buckets = kSmall, .local_steps = {.period = 4}});
    for (int s = 0; s < 8; ++s) rank.step(s, 3, 40);
    const ExchangeStatistics statistics = rank.optimizer.statistics();
    EXPECT_EQ(statistics.steps, 8);
    EXPECT_EQ(statistics.bytes_sent * 4, statistics.plain_bytes_sent);
  });
}

// --- convergence

constexpr int kSteps = 150;

// What a net of other weights says, on a rank of two; output 0 is shifted up on one and down on the other.
// That cancels in the sum, but is most of what each rank sees.
Samples taught(std::int64_t begin, std::int64_t n, double shift) {
  static SmallNet teacher(9);
  const NoGrad no_grad;
  const Samples samples = make_samples(begin, n);
  const Tensor outputs = teacher(samples.x).value().clone();
  for (std::int64_t i = 0; i < n; ++i) outputs.data<double>()[3 * i] += shift;
  return {samples.x, outputs};
}

// The mean loss after training on two ranks, the shift left out; optionally leftovers are thrown away.
double loss_after(const DistributedOptions& options, bool forgets) {
  double loss = 0.0;
  taught(0, 1, 0.0);  // made before there are threads
  run_ranks(2, [&](Communicator& world) {
    Rank rank(world, sgd(0.02), options);
    for (int s = 0; s < kSteps; ++s) {
      if (forgets) rank.optimizer.broadcast_state(rank.optimizer.optimizer().slots());
      rank.arena.zero_gradients();
      rank.net.loss(taught((s % 4) * 16 + world.rank() * 8, 8, world.rank() == 0 ? 1.0 : -1.0)).backward();
      rank.optimizer.step({.samples = 8});
    }
    rank.optimizer.synchronize();
    if (world.rank() == 0) loss = rank.net.loss(taught(0, 64, 0.0)).value().item() / 64.0;
  });
  return loss;
}

TEST(Convergence, CompressedTrainingGetsAsFarAsWhole) {
  const double whole = loss_after({}, false);
  EXPECT_LT(loss_after({.compression = compression::Bf16{}}, false), 1.02 * whole);
  EXPECT_LT(loss_after({.compression = compression::Fp16{}}, false), 1.01 * whole);
  EXPECT_LT(loss_after({.compression = compression::TopK{0.1}}, false), 1.2 * whole);
  EXPECT_LT(loss_after({.compression = compression::PowerSgd{1}}, false), 1.2 * whole);
  EXPECT_LT(loss_after({.local_steps = {.period = 4, .start_step = 20}}, false), 1.2 * whole);
  // Where ranks disagree as much as here, the larger sums of Adasum are no help; it learns all the same.
  EXPECT_LT(loss_after({.combine = Combine::adasum}, false), 4.0 * whole);
}

// The bound above means something: without error feedback it is not kept.
TEST(Convergence, NeedsErrorFeedback) {
  const double whole = loss_after({}, false);
  EXPECT_GT(loss_after({.compression = compression::TopK{0.1}}, true), 1.4 * whole);
  EXPECT_GT(loss_after({.compression = compression::PowerSgd{1}}, true), 1.4 * whole);
}

}  // namespace
}  // namespace ronde::test
