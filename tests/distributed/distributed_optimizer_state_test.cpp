// Weights and optimizers' state that one rank gives to all.
#include <gtest/gtest.h>
#include <ronde/distributed/values.h>
#include <ronde/nn/dense.h>

#include "distributed/small_training.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

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

}  // namespace
}  // namespace ronde::test
