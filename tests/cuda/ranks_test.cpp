// Trainings of several ranks on fake GPUs.
#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/learning_rate_warmup.h>
#include <ronde/models/model.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "cuda/fake_device.h"
#include "support/thread_ranks.h"
#include "watchdog/flight_recorder.h"

namespace ronde::test {
namespace {

InMemoryDataset digits(std::int64_t count) {
  const Values noise = random_values(static_cast<std::size_t>(count) * 16, 5);
  std::vector<float> pixels(noise.begin(), noise.end());
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < count; ++i) {
    labels.push_back(i % 4);
    pixels[static_cast<std::size_t>(16 * i + 5 * (i % 4))] += 3.0f;
  }
  return {Tensor::from<float>({count, 4, 4, 1}, pixels), Tensor::from<std::int32_t>({count}, labels)};
}

struct Settings {
  std::int64_t batch_size = 8;  // of a rank
  std::int64_t samples = 40;
  DistributedOptions distributed = {};
  NonFiniteAction non_finite = NonFiniteAction::finish_epoch;
  bool dropout = true;
  bool sgd = false;
};

struct Trained {
  std::string sha;
  std::vector<float> weights;
  double loss = 0;
  std::vector<std::string> warnings = {};
};

Trained train(Communicator& world, Backend& backend, const Settings& settings) {
  auto net = std::make_unique<Sequential>(Conv2D({.filters = 2, .activation = Activation::relu}), Flatten(),
                                          Dropout(settings.dropout ? 0.25 : 0.0),
                                          Dense({.units = 4, .activation = Activation::softmax}));
  Model model(std::move(net), {4, 4, 1}, {.communicator = &world, .seed = 3, .backend = &backend});
  std::unique_ptr<Optimizer> optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01});
  LearningRateWarmup warmup;
  std::vector<Callback*> callbacks;
  if (settings.sgd) {
    // Each step has a rate, and so a momentum, of its own.
    optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.5});
    callbacks.push_back(&warmup);
  }
  model.compile({.optimizer = std::move(optimizer),
                 .loss = std::make_unique<CategoricalCrossentropy>(),
                 .distributed = settings.distributed});
  const InMemoryDataset data = digits(settings.samples);
  std::vector<std::string> warnings;
  const History history =
      model.fit(data, {.batch_size = settings.batch_size,
                       .epochs = 3,
                       .non_finite = {.action = settings.non_finite},
                       .check_replicas_every = 2,
                       .validation = &data,
                       .callbacks = callbacks,
                       .verbose = 0,
                       .warn = [&](const std::string& line) { warnings.push_back(line); }});
  return {model.weights_sha256(), model.arena().values().to_vector<float>(),
          history.values.at("val_loss").back(), warnings};
}

/// By rank.
std::vector<Trained> train_on_gpus(int ranks, const Settings& settings, FakeOptions options = {}) {
  std::vector<Trained> all(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](Communicator& world) {
    FakeOptions own = options;
    own.id = cat("fake:", world.rank());
    own.seed += static_cast<std::uint64_t>(world.rank());
    FakeDevice device(own);
    all[static_cast<std::size_t>(world.rank())] = train(world, device.backend, settings);
    EXPECT_GE(device.runtime.replays(), 1);
    EXPECT_EQ(device.runtime.ranks().opened(), 1);  // a window for the gradients
    EXPECT_EQ(device.runtime.ranks().windows(), 0);
    EXPECT_EQ(device.runtime.ranks().window_memory(), 0u);
  });
  return all;
}

std::vector<Trained> train_on_cpus(int ranks, const Settings& settings) {
  std::vector<Trained> all(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](Communicator& world) {
    all[static_cast<std::size_t>(world.rank())] = train(world, backend("cpu"), settings);
  });
  return all;
}

// 40 samples in batches of 16 of both ranks: the last one is smaller, and not captured.
TEST(GpuRanks, TrainAsRanksOnTheCpuDo) {
  for (const bool sgd : {false, true}) {
    const Settings settings{.sgd = sgd};
    const std::vector<Trained> expected = train_on_cpus(2, settings), got = train_on_gpus(2, settings);
    EXPECT_EQ(got[0].sha, expected[0].sha);
    EXPECT_EQ(got[1].sha, expected[0].sha);
    EXPECT_EQ(got[0].loss, expected[0].loss);
  }
}

// Of 47 samples the last batch has 8 and 7: for one rank as many as in a whole batch, for the other fewer.
TEST(GpuRanks, CaptureABatchTogetherOrNotAtAll) {
  const std::vector<Trained> expected = train_on_cpus(2, {.samples = 47});
  EXPECT_EQ(train_on_gpus(2, {.samples = 47})[0].sha, expected[0].sha);
}

// 3 ranks and 2 samples at the end of each epoch.
TEST(GpuRanks, TrainWithBatchesThatNotAllHaveSamplesOf) {
  const std::vector<Trained> expected = train_on_cpus(3, {.samples = 50});
  EXPECT_EQ(train_on_gpus(3, {.samples = 50})[0].sha, expected[0].sha);
}

TEST(GpuRanks, TrainAsOneRankDoesWithTheWholeBatch) {
  const std::vector<Trained> one = train_on_cpus(1, {.batch_size = 24, .dropout = false});
  const std::vector<Trained> three = train_on_gpus(3, {.batch_size = 8, .dropout = false});
  ASSERT_EQ(one[0].weights.size(), three[0].weights.size());
  for (std::size_t i = 0; i < one[0].weights.size(); ++i)
    EXPECT_NEAR(three[0].weights[i], one[0].weights[i], 2e-4) << i;
  EXPECT_EQ(three[1].sha, three[0].sha);
  EXPECT_EQ(three[2].sha, three[0].sha);
}

// Rank 1 cannot have a graph: for lack of memory when it is made of the capture, or because of an operation
// in the capture, before or behind the first that counts.
TEST(GpuRanks, RepeatAGraphAllOrNone) {
  const Settings settings{.sgd = true};
  const std::string expected = train_on_cpus(2, settings)[0].sha;
  for (const cuda::Op refused : {cuda::Op::fill, cuda::Op::conv2d_backward_weight, cuda::Op::sgd_step}) {
    std::vector<std::string> warnings;  // of rank 0, as all are
    run_ranks(2, [&](Communicator& world) {
      const bool is_bad = world.rank() == 1, has_no_memory = refused == cuda::Op::fill;
      const cuda::CudaBackend* gpu = nullptr;
      FakeDevice device({.failing_graph = is_bad && has_no_memory ? 1 : 0,
                         .id = cat("fake:", world.rank()),
                         .on_launch = [&](const cuda::Call& call) {
                           require(!is_bad || has_no_memory || call.op != refused || !gpu->is_capturing(),
                                   "no memory for a launch");
                         }});
      gpu = &device.backend;
      const Trained got = train(world, device.backend, settings);
      EXPECT_EQ(got.sha, expected) << static_cast<int>(refused);
      EXPECT_EQ(device.runtime.replays(), 0);
      if (!is_bad) warnings = got.warnings;
    });
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("instead of as one graph: rank 1: "), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("no memory for a "), std::string::npos) << warnings[0];
  }
}

// As where mpirun passes a variable on to the ranks of its own machine only.
TEST(GpuRanks, OneWithoutGraphsDecidesForAll) {
  const std::string expected = train_on_cpus(2, {})[0].sha;
  for (const NonFiniteAction action : {NonFiniteAction::finish_epoch, NonFiniteAction::abort})
    for (const int without : {0, 1}) {
      run_ranks(2, [&](Communicator& world) {
        FakeDevice device({.id = cat("fake:", world.rank())}, {.graphs = world.rank() != without});
        const Trained got = train(world, device.backend, {.non_finite = action});
        EXPECT_EQ(got.sha, expected);
        EXPECT_EQ(device.runtime.replays(), 0);
        std::vector<std::string> warnings;
        if (world.rank() == 0)
          warnings = {
              cat("steps run kernel by kernel instead of as one graph: RONDE_CUDA_GRAPHS=off on rank ",
                  without, ", which counts for all")};
        EXPECT_EQ(got.warnings, warnings);
      });
    }
}

TEST(GpuRanks, TrainTheSameWithoutWindows) {
  const std::string expected = train_on_cpus(2, {})[0].sha;
  run_ranks(2, [&](Communicator& world) {
    FakeDevice device({.id = cat("fake:", world.rank())}, {.windows = world.rank() == 0});
    EXPECT_EQ(train(world, device.backend, {}).sha, expected);
    EXPECT_GE(device.runtime.replays(), 1);
    EXPECT_EQ(device.runtime.ranks().opened(), 0);
    EXPECT_EQ(device.runtime.ranks().enrolled(), 1);
    EXPECT_EQ(device.runtime.ranks().window_memory(), 0u);
  });
}

TEST(GpuRanks, NobodyIsToldOfGraphsThatNoneWants) {
  const std::string expected = train_on_cpus(2, {})[0].sha;
  run_ranks(2, [&](Communicator& world) {
    FakeDevice device({.id = cat("fake:", world.rank())}, {.graphs = false});
    const Trained got = train(world, device.backend, {});
    EXPECT_EQ(got.sha, expected);
    EXPECT_EQ(device.runtime.replays(), 0);
    EXPECT_TRUE(got.warnings.empty());
  });
}

// The host looks at each loss, so that the update cannot be part of a graph.
TEST(GpuRanks, TrainTheSameWithAGuard) {
  const Settings guarded{.non_finite = NonFiniteAction::abort};
  EXPECT_EQ(train_on_gpus(2, guarded)[0].sha, train_on_cpus(2, {})[0].sha);
}

TEST(GpuRanks, AverageWeightsAfterLocalSteps) {
  const Settings local{.distributed = {.local_steps = {.period = 2}}};
  const std::vector<Trained> expected = train_on_cpus(2, local);
  run_ranks(2, [&](Communicator& world) {
    FakeDevice device({.id = cat("fake:", world.rank())});
    EXPECT_EQ(train(world, device.backend, local).sha, expected[0].sha);
  });
}

TEST(GpuRanks, RefuseWhatGpusCannotDo) {
  run_ranks(2, [](Communicator& world) {
    FakeDevice device({.id = cat("fake:", world.rank())});
    expect_error([&] { train(world, device.backend, {.distributed = {.compression = compression::Fp16{}}}); },
                 "on GPUs gradients are summed as they are");
    expect_error([&] { train(world, device.backend, {.distributed = {.state = StateLayout::sharded}}); },
                 "on GPUs gradients are summed as they are");
  });
}

TEST(GpuRanks, AnErrorOnTheWayEndsAllRanks) {
  const auto errors = run_ranks_collecting(2, [](Communicator& world) {
    FakeDevice device({.failing_exchange = world.rank() == 1 ? 9 : 0, .id = cat("fake:", world.rank())});
    train(world, device.backend, {});
  });
  for (const std::exception_ptr& error : errors) {
    ASSERT_TRUE(error != nullptr);
    expect_error([&] { std::rethrow_exception(error); }, "[nccl]");
  }
}

// What the watchdog sees of a step that never ends: an operation that does not end either.
TEST(GpuRanks, AHangIsAnOperationThatDoesNotEnd) {
  std::atomic<int> seen = 0;  // by one of them at least, who then ends the other
  run_ranks_collecting(2, [&](Communicator& world) {
    FakeDevice device({.hanging_exchange = world.rank() == 1 ? 9 : 0, .id = cat("fake:", world.rank())});
    const std::shared_ptr<FlightRecorder> recorder = world.flight_recorder();
    std::atomic<bool> is_over = false;
    std::thread watchdog([&] {
      for (std::int64_t last = 0, times = 0; times < 20;) {
        if (is_over) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (const FlightRecorder::Pending& pending : recorder->pending()) {
          if (pending.operation.verb != "gpu step") continue;
          times = pending.operation.sequence == last ? times + 1 : 0;
          last = pending.operation.sequence;
        }
      }
      ++seen;
      device.runtime.lose("ended by the watchdog");
    });
    EXPECT_THROW(train(world, device.backend, {}), Error);  // whichever rank's watchdog came first
    is_over = true;
    watchdog.join();
  });
  EXPECT_GE(seen, 1);
}

}  // namespace
}  // namespace ronde::test
