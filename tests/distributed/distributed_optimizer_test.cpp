#include <ronde/distributed/distributed_optimizer.h>

#include <numeric>

#include <gtest/gtest.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/sgd.h>

#include "distributed/node_ranks.h"
#include "distributed/small_training.h"
#include "support/thread_ranks.h"
#include "watchdog/flight_recorder.h"

namespace ronde::test {
namespace {

constexpr int kSteps = 5;

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

// The inner one ends in the middle of what the outer one holds back.
TEST(DistributedOptimizer, GradientsAreHeldBackByTheOuterOfTwo) {
  run_ranks(2, [&](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    arena.zero_gradients();
    {
      const DistributedOptimizer::NoSync outer(optimizer);
      { const DistributedOptimizer::NoSync inner(optimizer); }
      net.loss(make_samples(0, 2)).backward();
    }
    EXPECT_NO_THROW(net.loss(make_samples(2, 2)).backward());
    EXPECT_EQ(optimizer.step({.samples = 4}), 8);
  });
}

TEST(DistributedOptimizer, GradientsAreHeldBackAcrossSteps) {
  run_ranks(2, [&](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    const DistributedOptimizer::NoSync hold(optimizer);
    for (int s = 0; s < 3; ++s) {
      arena.zero_gradients();
      for (int part = 0; part < 2; ++part) net.loss(make_samples(4 * s + 2 * part, 2)).backward();
      EXPECT_EQ(optimizer.step({.samples = 4}), 8);
    }
  });
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

// As of a GAN: the generator's pass goes through the critic, whose weights are not to learn from it.
TEST(DistributedOptimizer, AFrozenNetHasNoPartInThePassOfAnother) {
  const auto critic_after = [](Communicator& world, bool with_generator) {
    SmallNet critic(1);
    Dense generator({.units = 6});
    generator.build({6}, {.seed = 2, .dtype = DType::f64, .backend = &backend("cpu")});
    ParameterArena of_critic(critic), of_generator(generator);
    DistributedOptimizer critics(make_adam(), world, kSmallBuckets), generators(make_adam(), world);
    critics.attach(of_critic);
    generators.attach(of_generator);
    const std::vector<double> first = weights_of(of_generator);
    for (int s = 0; s < kSteps; ++s) {
      const Samples samples = make_samples(4 * (2 * s + world.rank()), 4);
      of_critic.zero_gradients();
      critic.loss(samples).backward();
      critics.step({.samples = 4});
      if (!with_generator) continue;
      for (Parameter& weight : critic.parameters()) weight.variable.set_requires_grad(false);
      of_generator.zero_gradients();
      sum(critic(generator(samples.x))).backward();
      generators.step({.samples = 4});
      for (Parameter& weight : critic.parameters()) weight.variable.set_requires_grad(true);
    }
    EXPECT_EQ(weights_of(of_generator) != first, with_generator);
    return weights_of(of_critic);
  };
  run_ranks(2,
            [&](Communicator& world) { EXPECT_EQ(critic_after(world, true), critic_after(world, false)); });
}

TEST(DistributedOptimizer, MovingStatisticsAreAveragedOnDemand) {
  run_ranks(2, [](Communicator& world) {
    BatchNormalization norm({.momentum = 0.0});
    norm.build({2}, {.dtype = DType::f64, .backend = &backend("cpu")});
    ParameterArena arena(norm);
    const double r = world.rank();
    norm(Tensor::from<double>({2, 2}, {r, 0, r, 4 * r}, &backend("cpu")), {.training = true});
    average_buffers(arena, world);
    std::map<std::string, std::vector<double>> statistics;
    for (const Parameter& weight : norm.parameters())
      statistics[weight.name] = weight.variable.value().to_vector<double>();
    EXPECT_EQ(statistics.at("moving_mean"), (std::vector<double>{0.5, 1.0}));
    EXPECT_EQ(statistics.at("moving_variance"), (std::vector<double>{0.0, 2.0}));
    Dense plain({.units = 1});
    plain.build({2});
    ParameterArena without(plain);
    average_buffers(without, world);
  });
}

}  // namespace
}  // namespace ronde::test
