#include <ronde/models/terminate_on_nan.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include <ronde/models/model_checkpoint.h>

#include "models/callbacks/keras_callbacks.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

/// 12 samples; the target of one of them is bad.
InMemoryDataset with_bad_target(std::int64_t sample, double bad) {
  std::vector<double> targets(12, 0.5);
  targets[static_cast<std::size_t>(sample)] = bad;
  const Tensor ones = Tensor::full({12, 1}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  return {ones, Tensor::from<double>({12, 1}, targets, &backend("cpu"))};
}

FitOptions guarded(Callback& guard) {
  return {.global_batch_size = 3, .epochs = 2, .shuffle = false, .callbacks = {&guard}, .verbose = 0};
}

TEST(TerminateOnNaN, OneRanksLossStopsAllAtTheSameStep) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    // The third step has samples 6, 7 and 8, one for each rank.
    for (const std::int64_t sample : {6, 7, 8}) {
      const InMemoryDataset data = with_bad_target(sample, bad);
      std::atomic<std::int64_t> steps = 0;
      const std::string text = printed([&] {
        test::run_ranks(3, [&](Communicator& world) {
          TerminateOnNaN guard;
          Model model = one_weight_model(0.1, 0.0, &world);
          const History history = model.fit(data, guarded(guard));
          EXPECT_EQ(history.epochs.size(), 1u);
          EXPECT_FALSE(std::isfinite(history.values.at("loss")[0]));
          EXPECT_TRUE(guard.stopped());
          steps += model.progress().steps;
        });
      });
      EXPECT_EQ(steps, 9);
      EXPECT_EQ(text, "Batch 2: Invalid loss, terminating training\n");
    }
  }
}

TEST(TerminateOnNaN, NothingIsSavedOfAnEpochWithoutALoss) {
  const TempDir dir;
  TerminateOnNaN guard;
  ModelCheckpoint checkpoint({.filepath = dir / "{epoch}.h5"});
  Model model = one_weight_model(0.1, 0.0);
  FitOptions fit = guarded(guard);
  fit.callbacks.push_back(&checkpoint);
  printed([&] { model.fit(with_bad_target(6, std::nan("")), fit); });
  EXPECT_EQ(checkpoint.last_path(), "");
}

TEST(TerminateOnNaN, RaisesOnAllRanksWhenAskedTo) {
  const InMemoryDataset data = with_bad_target(4, std::nan(""));
  const auto errors = test::run_ranks_collecting(2, [&](Communicator& world) {
    TerminateOnNaN guard({.raise_error = true});
    Model model = one_weight_model(0.1, 0.0, &world);
    EXPECT_EQ(message_of<CollectiveError>([&] { model.fit(data, guarded(guard)); }),
              "[terminate_on_nan] Batch 1: Invalid loss, terminating training");
    EXPECT_EQ(model.progress().steps, 2);
  });
  for (const auto& error : errors) EXPECT_FALSE(error);
}

TEST(TerminateOnNaN, RaisesForTheWorldsRankWhereAGroupTrains) {
  const InMemoryDataset data = with_bad_target(4, std::nan(""));
  test::run_ranks(4, [&](Communicator& world) {
    const auto pair = world.split(world.rank() / 2, world.rank());
    TerminateOnNaN guard({.raise_error = true});
    Model model = one_weight_model(0.1, 0.0, &*pair);
    try {
      model.fit(data, guarded(guard));
      ADD_FAILURE() << "it went on";
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.world_rank(), world.rank() / 2 * 2);
    }
  });
}

TEST(TerminateOnNaN, LeavesAGoodRunAlone) {
  const InMemoryDataset data = with_bad_target(0, 0.25);
  TerminateOnNaN guard;
  Model model = one_weight_model(0.1);
  EXPECT_EQ(model.fit(data, guarded(guard)).epochs.size(), 2u);
  EXPECT_FALSE(guard.stopped());
}

TEST(TerminateOnNaN, WithoutItFitThrowsAtTheEndOfTheEpoch) {
  Model model = one_weight_model(0.1);
  EXPECT_THROW(model.fit(with_bad_target(0, std::nan("")), {.batch_size = 3, .verbose = 0}), CollectiveError);
  EXPECT_EQ(model.progress().steps, 4);
}

}  // namespace
}  // namespace ronde::test
