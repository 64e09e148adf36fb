// Ranks must train the same way: what they plan is compared when an optimizer is attached.
#include <gtest/gtest.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "distributed/small_training.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

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

TEST(DistributedOptimizer, PlansOfAGroupDifferBetweenItsRanksInTheWorld) {
  run_ranks(4, [](Communicator& world) {
    const auto pair = world.split(world.rank() / 2, world.rank());
    SmallNet net(1, pair->rank() == 1 ? 7 : 5);
    const std::string error = plan_error(*pair, net, make_adam());
    const int first = world.rank() / 2 * 2;
    EXPECT_NE(error.find(cat(": rank ", first + 1, " has middle/kernel (7, 4) f64, rank ", first, " has ")),
              std::string::npos)
        << error;
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

}  // namespace
}  // namespace ronde::test
