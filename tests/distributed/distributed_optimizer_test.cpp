#include <ronde/distributed/distributed_optimizer.h>

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <ronde/distributed/values.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "distributed/node_ranks.h"
#include "distributed/small_net.h"
#include "support/thread_ranks.h"
#include "watchdog/flight_recorder.h"

namespace ronde::test {
namespace {

constexpr int kSteps = 5;
const DistributedOptions kSmallBuckets{.buckets = {.first_bucket_bytes = 64, .bucket_bytes = 256}};

std::unique_ptr<Optimizer> make_adam(double rate = 0.01) {
  return std::make_unique<Adam>(AdamOptions{.learning_rate = rate});
}

std::vector<double> weights_of(const ParameterArena& arena) {
  return arena.values().view(0, {arena.trainable_size()}).to_vector<double>();
}

// One process, the whole batch, without anything distributed.
std::vector<double> train_alone(std::int64_t batch) {
  SmallNet net;
  ParameterArena arena(net);
  Adam adam({.learning_rate = 0.01});
  adam.attach(arena);
  for (int s = 0; s < kSteps; ++s) {
    arena.zero_gradients();
    net.loss(make_samples(s * batch, batch)).backward();
    adam.step(1.0 / static_cast<double>(batch));
  }
  return weights_of(arena);
}

// Rank r takes shares[r] samples of each batch; no backward pass for none.
void expect_same_as_alone(const std::vector<std::int64_t>& shares) {
  const std::int64_t batch = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  const std::vector<double> expected = train_alone(batch);
  const auto train = [&](Communicator& world) {
    const auto r = static_cast<std::size_t>(world.rank());
    const std::int64_t begin =
        std::accumulate(shares.begin(), shares.begin() + world.rank(), std::int64_t{0});
    SmallNet net(1 + r);  // rank 0's weights and learning rate must win
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(r == 0 ? 0.01 : 0.5), world, kSmallBuckets);
    optimizer.attach(arena);
    for (int s = 0; s < kSteps; ++s) {
      arena.zero_gradients();
      if (shares[r] > 0) net.loss(make_samples(s * batch + begin, shares[r])).backward();
      EXPECT_EQ(optimizer.step({.samples = shares[r]}), batch);
    }
    const std::vector<double> actual = weights_of(arena);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 1e-12) << "weight " << i;
    EXPECT_EQ(optimizer.optimizer().iterations(), kSteps);
  };
  run_ranks(static_cast<int>(shares.size()), train);
  run_node_ranks(static_cast<int>(shares.size()), train);  // straight from each other's gradients
}

TEST(DistributedOptimizer, OneRank) {
  expect_same_as_alone({12});
}
TEST(DistributedOptimizer, EqualShards) {
  expect_same_as_alone({4, 4, 4});
}
TEST(DistributedOptimizer, UnequalShards) {
  expect_same_as_alone({7, 1, 4});
}
TEST(DistributedOptimizer, EmptyShards) {
  expect_same_as_alone({0, 12});
  expect_same_as_alone({5, 0, 7, 0});
}

TEST(DistributedOptimizer, OtherBucketsBetweenStepsChangeNothing) {
  const std::vector<double> expected = train_alone(6);
  run_ranks(2, [&](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    ASSERT_TRUE(optimizer.may_set_buckets());
    std::int64_t sent = 0;  // in the first step
    for (int s = 0; s < kSteps; ++s) {
      const std::int64_t bytes = 1LL << (s % 2 == 0 ? 40 : 5);
      optimizer.set_buckets({.first_bucket_bytes = bytes, .bucket_bytes = bytes});
      arena.zero_gradients();
      net.loss(make_samples(s * 6 + 3 * world.rank(), 3)).backward();
      optimizer.step({.samples = 3});
      if (s == 0) sent = optimizer.statistics().bytes_sent;
      EXPECT_EQ(optimizer.statistics().bytes_sent, (s + 1) * sent);
    }
    EXPECT_EQ(optimizer.options().buckets.bucket_bytes, 1LL << 40);
    const std::vector<double> actual = weights_of(arena);
    for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-12) << i;
    EXPECT_THROW(optimizer.set_buckets({.first_bucket_bytes = 0}), UsageError);

    DistributedOptimizer sharded(make_adam(), world, {.state = StateLayout::sharded});
    EXPECT_FALSE(sharded.may_set_buckets());
    EXPECT_THROW(sharded.set_buckets({}), UsageError);
  });
}

TEST(DistributedOptimizer, NoSamplesAnywhereIsNoUpdate) {
  run_ranks(2, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world);
    optimizer.attach(arena);
    const std::vector<double> before = weights_of(arena);
    arena.zero_gradients();
    EXPECT_EQ(optimizer.step({.samples = 0}), 0);
    EXPECT_EQ(weights_of(arena), before);
    EXPECT_EQ(optimizer.optimizer().iterations(), 0);
  });
}

TEST(DistributedOptimizer, NegativeSamplesAreAnError) {
  run_ranks(1, [](Communicator& world) {
    DistributedOptimizer optimizer(make_adam(), world);
    EXPECT_THROW(optimizer.step({.samples = -1}), UsageError);
  });
}

// Gradients are means: the update uses their average over the ranks.
TEST(DistributedOptimizer, StepWithoutCountsAverages) {
  const std::vector<double> expected = train_alone(8);
  run_ranks(2, [&](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world);
    optimizer.attach(arena);
    for (int s = 0; s < kSteps; ++s) {
      arena.zero_gradients();
      (net.loss(make_samples(s * 8 + world.rank() * 4, 4)) / 4.0).backward();
      optimizer.step();
    }
    const std::vector<double> actual = weights_of(arena);
    for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-12);
  });
}

// Weights after steps of Adam in which rank r has shares[r] samples, whose gradients are their sum, which
// `step` is told, or their mean.
enum class Gradients { sums, means };
std::vector<double> train_with(Gradients gradients, const std::vector<std::int64_t>& shares) {
  std::vector<double> weights;
  run_ranks(static_cast<int>(shares.size()), [&](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    const std::int64_t own = shares[static_cast<std::size_t>(world.rank())];
    for (int s = 0; s < kSteps; ++s) {
      arena.zero_gradients();
      const Variable loss = net.loss(make_samples(s * 40 + world.rank() * 10, own));
      if (gradients == Gradients::sums) {
        loss.backward();
        optimizer.step({.samples = own});
      } else {
        (loss / static_cast<double>(own)).backward();
        optimizer.step();
      }
    }
    if (world.rank() == 0) weights = weights_of(arena);
  });
  return weights;
}

// The same bits, as a mean of so many is a sum with another exponent.
TEST(DistributedOptimizer, SumsAndMeansOfEqualBatchesAreTheSameBits) {
  for (const std::vector<std::int64_t>& shares :
       {std::vector<std::int64_t>{8}, {4, 4}, {2, 2, 2}, {8, 8, 8, 8}})
    EXPECT_EQ(train_with(Gradients::sums, shares), train_with(Gradients::means, shares))
        << shares.size() << " ranks";
}

// Of unequal ones, sums give each sample the same weight, and means each rank.
TEST(DistributedOptimizer, SumsOfUnequalBatchesAreAWeightedMean) {
  const std::vector<std::int64_t> shares{1, 5, 2};
  run_ranks(3, [&](Communicator& world) {
    const std::int64_t own = shares[static_cast<std::size_t>(world.rank())];
    for (const bool is_weighted : {true, false}) {
      SmallNet net;
      ParameterArena arena(net);
      DistributedOptimizer optimizer(std::make_unique<SGD>(SGDOptions{.learning_rate = 1.0}), world);
      optimizer.attach(arena);
      std::vector<double> expected = weights_of(arena);
      for (int r = 0; r < 3; ++r) {  // each rank's mean, by one process
        const std::int64_t n = shares[static_cast<std::size_t>(r)];
        SmallNet alone;
        ParameterArena gradients(alone);
        gradients.zero_gradients();
        (alone.loss(make_samples(10 * r, n)) / static_cast<double>(n)).backward();
        const std::vector<double> mean =
            gradients.gradients().view(0, {gradients.trainable_size()}).to_vector<double>();
        const double weight = is_weighted ? static_cast<double>(n) / 8.0 : 1.0 / 3.0;
        for (std::size_t i = 0; i < mean.size(); ++i) expected[i] -= weight * mean[i];
      }
      arena.zero_gradients();
      const Variable loss = net.loss(make_samples(10 * world.rank(), own));
      (is_weighted ? loss : loss / static_cast<double>(own)).backward();
      is_weighted ? void(optimizer.step({.samples = own})) : optimizer.step();
      const std::vector<double> actual = weights_of(arena);
      for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-13) << i;
    }
  });
}

TEST(DistributedOptimizer, AccumulatesOverMicroBatches) {
  const std::vector<double> expected = train_alone(12);
  run_ranks(2, [&](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    for (int s = 0; s < kSteps; ++s) {
      arena.zero_gradients();
      const std::int64_t begin = s * 12 + world.rank() * 6;
      {
        const DistributedOptimizer::NoSync hold(optimizer);
        net.loss(make_samples(begin, 1)).backward();
        net.loss(make_samples(begin + 1, 3)).backward();
      }
      net.loss(make_samples(begin + 4, 2)).backward();
      optimizer.step({.samples = 6});
    }
    const std::vector<double> actual = weights_of(arena);
    for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-12);
  });
}

std::string plan_error(Communicator& world, Module& net, std::unique_ptr<Optimizer> optimizer,
                       const DistributedOptions& options = {}) {
  ParameterArena arena(net);
  DistributedOptimizer distributed(std::move(optimizer), world, options);
  try {
    distributed.attach(arena);
  } catch (const CollectiveError& error) {
    EXPECT_EQ(error.rank(), 1);
    return error.what();
  }
  return "no error";
}

TEST(DistributedOptimizer, DifferentPlansAreAnErrorOnAllRanks) {
  run_ranks(3, [](Communicator& world) {
    const bool is_odd = world.rank() == 1;
    SmallNet net(1, is_odd ? 7 : 5);
    EXPECT_EQ(
        plan_error(world, net, make_adam()),
        "[distributed_optimizer] ranks have different plans: rank 1 has middle/kernel (7, 4) f64, rank 0 has "
        "middle/kernel (5, 4) f64");
    SmallNet same;
    const std::string names = plan_error(world, same, is_odd ? std::make_unique<SGD>() : make_adam());
    EXPECT_NE(names.find("rank 1 has optimizer SGD"), std::string::npos) << names;
    EXPECT_NE(names.find("rank 0 has optimizer Adam"), std::string::npos) << names;
    SmallNet again;
    const std::string betas =
        plan_error(world, again, std::make_unique<Adam>(AdamOptions{.beta_1 = is_odd ? 0.8 : 0.9}));
    EXPECT_NE(betas.find("rank 1 has optimizer's beta_1: 0.8, rank 0 has optimizer's beta_1: 0.9"),
              std::string::npos)
        << betas;
    SmallNet close;
    const std::string digits =
        plan_error(world, close, std::make_unique<Adam>(AdamOptions{.beta_1 = is_odd ? 0.9 + 1e-13 : 0.9}));
    EXPECT_NE(
        digits.find("rank 1 has optimizer's beta_1: 0.9000000000001, rank 0 has optimizer's beta_1: 0.9"),
        std::string::npos)
        << digits;
    SmallNet third;
    const std::string buckets =
        plan_error(world, third, make_adam(), is_odd ? kSmallBuckets : DistributedOptions());
    EXPECT_NE(buckets.find("rank 1 has buckets ending at"), std::string::npos) << buckets;
  });
}

TEST(DistributedOptimizer, GroupsAndSchedulesArePartOfThePlan) {
  run_ranks(2, [](Communicator& world) {
    SGD kernels({.learning_rate = 0.1, .l2 = 1e-4});
    kernels.set_schedule(std::make_shared<CosineDecay>(
        CosineDecayOptions{.initial_rate = 1.0, .decay_steps = world.rank() == 1 ? 20.0 : 10.0}));
    SmallNet net;
    const std::string text =
        plan_error(world, net,
                   std::make_unique<OptimizerGroups>(optimizer_group("*/kernel", std::move(kernels)),
                                                     optimizer_group("*", SGD({.learning_rate = 0.2}))));
    EXPECT_NE(text.find("rank 1 has optimizer's */kernel: schedule's decay_steps: 20, rank 0 has optimizer's "
                        "*/kernel: schedule's decay_steps: 10"),
              std::string::npos)
        << text;
  });
}

TEST(DistributedOptimizer, RegularizersArePartOfThePlan) {
  run_ranks(2, [](Communicator& world) {
    Sequential net(Dense({.units = 2,
                          .kernel_regularizer = Regularizer::l2(world.rank() == 1 ? 0.25 : 0.5),
                          .name = "dense"}));
    net.build({3});
    EXPECT_EQ(
        plan_error(world, net, make_adam()),
        "[distributed_optimizer] ranks have different plans: rank 1 has dense/kernel (3, 2) f32, penalty "
        "{class_name: L2, config: {l2: 0.25}}, rank 0 has dense/kernel (3, 2) f32, penalty {class_name: "
        "L2, config: {l2: 0.5}}");
  });
}

TEST(DistributedOptimizer, FrozenOnOneRankOnly) {
  run_ranks(2, [](Communicator& world) {
    SmallNet net;
    if (world.rank() == 1) net.out.set_trainable(false);
    EXPECT_NE(plan_error(world, net, make_adam()).find("different plans"), std::string::npos);
  });
}

TEST(DistributedOptimizer, BroadcastsWeightsAndState) {
  run_ranks(3, [](Communicator& world) {
    SmallNet net(static_cast<std::uint64_t>(world.rank()));
    ParameterArena arena(net);
    auto adam = make_adam(0.01 * (1 + world.rank()));
    adam->attach(arena);
    for (const OptimizerSlot& slot : adam->slots()) slot.values.fill(world.rank() + 0.5);
    adam->set_iterations(10 + world.rank());
    const std::uint64_t version = arena.version();
    broadcast_parameters(arena, world, 2);
    broadcast_optimizer_state(*adam, world, 2);
    SmallNet reference(2);
    const ParameterArena expected(reference);
    EXPECT_EQ(weights_of(arena), weights_of(expected));
    EXPECT_GT(arena.version(), version);
    EXPECT_EQ(adam->iterations(), 12);
    EXPECT_EQ(adam->learning_rate(), 0.01 * 3);
    for (const OptimizerSlot& slot : adam->slots()) EXPECT_EQ(slot.values.to_vector<double>()[3], 2.5);
  });
}

struct OneLayer : Module {
  Dense dense;
  OneLayer(std::int64_t inputs, std::int64_t units) : dense({.units = units}) {
    add_module("dense", dense);
    build({inputs}, {.seed = 1, .dtype = DType::f64, .backend = &backend("cpu")});
  }
  Variable forward(const Variable& x, const Context& context) override { return dense(x, context); }
};

// 24 weights in as many bytes everywhere, but a (3, 6) kernel on one rank is no (5, 4) kernel.
TEST(DistributedOptimizer, BroadcastOfOtherShapesOfTheSameSizeIsAnErrorOnAllRanks) {
  run_ranks(3, [](Communicator& world) {
    const bool is_odd = world.rank() == 1;
    OneLayer net(is_odd ? 5 : 3, is_odd ? 4 : 6);
    ParameterArena arena(net);
    Adam adam;
    adam.attach(arena);
    const std::vector<double> before = arena.values().to_vector<double>();
    const auto sizes = allgather(world, std::vector<std::int64_t>{arena.values().count()}).wait();
    ASSERT_EQ(sizes, std::vector<std::int64_t>(3, sizes[0]));
    const std::string difference =
        "ranks have different parameters: rank 1 has dense/bias (4,) f64, rank 0 has dense/bias (6,) f64";
    const auto expect_error = [&](const std::string& who, const auto& f) {
      try {
        f();
        ADD_FAILURE() << "no error";
      } catch (const CollectiveError& error) {
        EXPECT_EQ(error.what(), cat('[', who, "] ", difference));
        EXPECT_EQ(error.rank(), 1);
      }
    };
    expect_error("broadcast_parameters", [&] { broadcast_parameters(arena, world, 2); });
    expect_error("broadcast_optimizer_state", [&] { broadcast_optimizer_state(adam, world); });
    EXPECT_EQ(arena.values().to_vector<double>(), before);
    EXPECT_EQ(allgather(world, std::vector<int>{world.rank()}).wait(), (std::vector<int>{0, 1, 2}));
  });
}

// An optimizer whose state finds no room.
struct LargeAdam : Adam {
  void attach(ParameterArena&) override { throw Error("no memory for the state"); }
};

TEST(DistributedOptimizer, StateThatOneRankHasNoMemoryForIsAnErrorOnAllRanks) {
  run_ranks(3, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    const bool is_odd = world.rank() == 1;
    DistributedOptimizer optimizer(is_odd ? std::make_unique<LargeAdam>() : make_adam(), world);
    try {
      optimizer.attach(arena);
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "no memory for the state");
      EXPECT_EQ(error.rank(), 1);
    }
    DistributedOptimizer again(make_adam(), world);
    again.attach(arena);
  });
}

// An exception on one rank in the middle of a step must not leave the others waiting.
TEST(DistributedOptimizer, FailureInBackwardReachesAllRanks) {
  const auto errors = run_ranks_collecting(3, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    for (int s = 0;; ++s) {
      arena.zero_gradients();
      if (s == 3 && world.rank() == 2) throw InputError("bad sample");
      net.loss(make_samples(s * 9 + world.rank() * 3, 3)).backward();
      optimizer.step({.samples = 3});
    }
  });
  EXPECT_THROW(std::rethrow_exception(errors[0]), CollectiveError);
  EXPECT_THROW(std::rethrow_exception(errors[1]), CollectiveError);
  EXPECT_THROW(std::rethrow_exception(errors[2]), InputError);
}

TEST(DistributedOptimizer, NeedsAnOptimizer) {
  run_ranks(1, [](Communicator& world) { EXPECT_THROW(DistributedOptimizer(nullptr, world), UsageError); });
}

// A loop of the user's own: whoever supervises the job sees its steps, and that they move.
TEST(DistributedOptimizer, TellsWhoSupervisesItsSteps) {
  for (const int ranks : {1, 2}) {
    const HeartbeatFile beats(ranks);
    run_ranks(ranks, [&](Communicator& world) {
      HeartbeatSlot& slot = beats.slot(world.rank());
      world.flight_recorder()->beat_in({std::shared_ptr<void>(), &slot});
      SmallNet net;
      ParameterArena arena(net);
      DistributedOptimizer optimizer(make_adam(), world);
      optimizer.attach(arena);
      const auto step = [&] {
        arena.zero_gradients();
        net.loss(make_samples(0, 4)).backward();
        optimizer.step({.samples = 4});
      };
      for (std::int64_t s = 1; s <= 3; ++s) {
        step();
        EXPECT_EQ(slot.step, s);
        EXPECT_EQ(slot.batches, s);
      }
      optimizer.optimizer().set_iterations(41);  // as when it goes on from a file
      step();
      EXPECT_EQ(slot.step, 42);
      begin_watched_step(world, 7);  // whoever says it himself knows better
      step();
      EXPECT_EQ(slot.step, 7);
      EXPECT_EQ(slot.batches, 5);
      world.flight_recorder()->beat_in(nullptr);
    });
  }
}

}  // namespace
}  // namespace ronde::test
