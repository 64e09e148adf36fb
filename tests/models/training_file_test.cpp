// A training by a loop of one's own goes on from its file as if it had not stopped.
#include <ronde/core/ops.h>
#include <ronde/models/safetensors.h>
#include <ronde/models/training_file.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

std::unique_ptr<Optimizer> make_adam() {
  return std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01});
}

std::unique_ptr<Optimizer> make_averaging_sgd() {
  auto sgd = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.01, .momentum = 0.9});
  sgd->set_moving_average({.momentum = 0.5});
  return sgd;
}

/// A net, its arena and its optimizer, as in a loop of one's own.
struct Training {
  Training(Communicator& world, std::unique_ptr<Optimizer> by, DistributedOptions options, std::uint64_t seed)
      : optimizer(std::move(by), world, std::move(options)) {
    net.build({4}, {.seed = seed, .dtype = DType::f64});
    arena.emplace(net);
    optimizer.attach(*arena);
  }
  void run(std::int64_t begin, std::int64_t end) {
    Communicator& world = optimizer.communicator();
    for (std::int64_t step = begin; step < end; ++step) {
      std::vector<double> values;
      for (int i = 0; i < 16; ++i)
        values.push_back(std::sin(0.7 * static_cast<double>(i + 16 * (world.rank() + 10 * step))));
      const Tensor x = Tensor::from<double>({4, 4}, values);
      arena->zero_gradients();
      sum(square(net(x, {.training = true}))).backward();
      optimizer.step({.samples = 4});
    }
  }
  Sequential net{Dense({.units = 3}), BatchNormalization(), Dense({.units = 2})};
  std::optional<ParameterArena> arena;
  DistributedOptimizer optimizer;
};

void expect_to_go_on(int ranks, const MakeOptimizer& make, const DistributedOptions& options) {
  const TempDir dir(memory_directory());
  run_ranks(ranks, [&](Communicator& world) {
    Training straight(world, make(), options, 1);
    straight.run(0, 3);
    save_training(dir / "run.safetensors", straight.net, straight.optimizer);
    straight.run(3, 6);

    Training resumed(world, make(), options, 2);
    load_training(dir / "run.safetensors", resumed.net, resumed.optimizer);
    EXPECT_EQ(resumed.optimizer.optimizer().iterations(), 3);
    resumed.run(3, 6);
    EXPECT_EQ(resumed.arena->values().to_vector<double>(), straight.arena->values().to_vector<double>());
    EXPECT_EQ(resumed.arena->buffers().to_vector<double>(), straight.arena->buffers().to_vector<double>());
  });
}

TEST(TrainingFile, GoesOnWithTheSameBits) {
  for (const int ranks : {1, 2}) {
    expect_to_go_on(ranks, make_adam, {});
    expect_to_go_on(ranks, make_averaging_sgd, {});
    expect_to_go_on(ranks, make_adam, {.state = StateLayout::sharded});
  }
}

TEST(TrainingFile, IsTheSameOnAnyNumberOfRanks) {
  const TempDir dir(memory_directory());
  std::vector<double> weights;
  run_ranks(2, [&](Communicator& world) {
    Training training(world, make_adam(), {.state = StateLayout::sharded}, 1);
    training.run(0, 3);
    save_training(dir / "run.safetensors", training.net, training.optimizer);
    if (world.rank() == 0) weights = training.arena->values().to_vector<double>();
  });
  run_ranks(3, [&](Communicator& world) {
    Training training(world, make_adam(), {}, 2);
    training.optimizer.optimizer().set_learning_rate(0.5);
    load_training(dir / "run.safetensors", training.net, training.optimizer);
    EXPECT_EQ(training.arena->values().to_vector<double>(), weights);
    EXPECT_EQ(training.optimizer.optimizer().learning_rate(), 0.01);
    save_training(dir / "again.safetensors", training.net, training.optimizer);
  });
  const NamedTensors first = read_safetensors(dir / "run.safetensors").tensors;
  const NamedTensors again = read_safetensors(dir / "again.safetensors").tensors;
  ASSERT_EQ(first.size(), again.size());
  for (const auto& [name, values] : first) {
    const std::vector<double> expected = values.to_vector<double>(), got = again.at(name).to_vector<double>();
    for (std::size_t i = 0; i < expected.size(); ++i)  // an average of three equal numbers is rounded
      EXPECT_DOUBLE_EQ(got[i], expected[i]) << name;
  }
}

TEST(TrainingFile, ChangesNothingWhereItDoesNotFit) {
  const TempDir dir(memory_directory());
  run_ranks(2, [&](Communicator& world) {
    const std::string file = dir / "run.safetensors", weights = dir / "weights.safetensors";
    Training training(world, make_adam(), {}, 1);
    save_training(file, training.net, training.optimizer);
    if (world.rank() == 0) write_safetensors(weights, training.net);
    world.barrier().wait();

    Training other(world, make_averaging_sgd(), {}, 2);
    const std::vector<double> before = other.arena->values().to_vector<double>();
    const auto message = [&](const std::string& path, Module& net, DistributedOptimizer& optimizer) {
      return message_of([&] { load_training(path, net, optimizer); });
    };
    EXPECT_NE(message(file, other.net, other.optimizer).find(file + ": is of a training by Adam, not by SGD"),
              std::string::npos);
    EXPECT_NE(message(weights, other.net, other.optimizer).find("holds no training"), std::string::npos);
    EXPECT_EQ(other.arena->values().to_vector<double>(), before);

    Sequential large(Dense({.units = 5}), BatchNormalization(), Dense({.units = 2}));
    large.build({4}, {.dtype = DType::f64});
    ParameterArena arena(large);
    DistributedOptimizer optimizer(make_adam(), world);
    optimizer.attach(arena);
    EXPECT_NE(message(file, large, optimizer).find("kernel is (3, 2), this net has (5, 2)"),
              std::string::npos);
    EXPECT_NE(message(dir / "none", large, optimizer).find(dir / "none"), std::string::npos);
  });
}

}  // namespace
}  // namespace ronde::test
