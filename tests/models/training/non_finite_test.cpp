// NaN and infinity in gradients: what the policies do, and that all ranks do it together.
#include <gtest/gtest.h>

#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/data/virtual_shards.h>
#include <ronde/distributed/self_communicator.h>
#include <ronde/models/lambda_callback.h>

#include "models/training/non_finite_testing.h"

namespace ronde::test::non_finite {
namespace {

/// Of three, the one that has the sample at this place of a batch of 6.
int rank_of(int place, bool deterministic) {
  if (!deterministic) return place % 3;
  for (int rank = 0; rank < 3; ++rank)  // one sample in each of the first shards
    if (VirtualShards(16, rank, 3).first <= place && place < VirtualShards(16, rank, 3).last) return rank;
  return -1;
}

TEST(NonFinite, AbortNamesStepRankAndSampleOnAllRanksAndLeavesTheWeights) {
  for (const Ways& way : kWays) {
    if (way.distributed.local_steps.period > 1) continue;
    for (const std::int64_t bad : {12, 15, 17}) {  // of the third step; of rank 0, 1 and 2
      SCOPED_TRACE(cat(way.name, ", sample ", bad));
      const InMemoryDataset data = rows(30, bad);
      test::run_ranks(3, [&](Communicator& world) {
        Model model = make_model(world, way.distributed);
        std::string before;
        LambdaCallback watch(
            {.on_train_batch_begin = [&](std::int64_t) { before = model.weights_sha256(); }});
        FitOptions fit = options(NonFiniteAction::abort);
        fit.deterministic = way.deterministic;
        fit.callbacks = {&watch};
        try {
          model.fit(data, fit);
          ADD_FAILURE() << "it went on";
        } catch (const CollectiveError& error) {
          EXPECT_EQ(error.status(), ExitStatus::non_finite);
          const int rank = rank_of(static_cast<int>(bad - 12), way.deterministic);
          EXPECT_EQ(error.rank(), rank);
          EXPECT_EQ(std::string(error.what()), cat("[fit] step 3 (3 of epoch 1) is not finite: rank ", rank,
                                                   ": the input of sample ", bad, " is nan"));
        }
        EXPECT_EQ(model.progress().steps, 2);
        // The moving statistics have seen the step; they are not trained.
        EXPECT_TRUE(std::isfinite(model.optimizer().slots()[0].values.to_vector<double>()[0]));
        for (const double weight : model.arena().values().to_vector<double>())
          EXPECT_TRUE(std::isfinite(weight));
      });
    }
  }
}

TEST(NonFinite, TheRankOfAGroupIsNamedAsItIsInTheWorld) {
  const InMemoryDataset data = rows(30, 13);
  test::run_ranks(4, [&](Communicator& world) {
    const auto pair = world.split(world.rank() / 2, world.rank());
    Model model = make_model(*pair);
    const int bad = world.rank() / 2 * 2 + 1;
    try {
      model.fit(data, options(NonFiniteAction::abort));
      ADD_FAILURE() << "it went on";
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.rank(), 1);
      EXPECT_EQ(error.world_rank(), bad);
      EXPECT_EQ(std::string(error.what()), cat("[fit] step 3 (3 of epoch 1) is not finite: rank ", bad,
                                               ": the input of sample 13 is nan"));
    }
  });
}

TEST(NonFinite, AbortBetweenLocalStepsIsOneRanksErrorOfWhichTheOthersHear) {
  const InMemoryDataset data = rows(30, 13);
  const auto errors = test::run_ranks_collecting(2, [&](Communicator& world) {
    Model model = make_model(world, {.local_steps = {.period = 4}});
    model.fit(data, options(NonFiniteAction::abort));
  });
  for (const auto& error : errors) ASSERT_TRUE(error);
  const std::string message = message_of<Error>([&] { std::rethrow_exception(errors[1]); });
  EXPECT_EQ(message, "[fit] step 3 (3 of epoch 1) is not finite: rank 1: the input of sample 13 is nan");
}

TEST(NonFinite, ASkippedStepIsAsIfItsSamplesWereNotThere) {
  for (const Ways& way : kWays) {
    SCOPED_TRACE(way.name);
    // The last of three steps, so that the run without it is the run of the samples before.
    const Outcome skipped = train(3, rows(18, 14), way, options(NonFiniteAction::skip));
    const Outcome expected = train(3, rows(12), way, options(NonFiniteAction::skip));
    EXPECT_EQ(skipped.weights, expected.weights);
    EXPECT_EQ(skipped.loss, expected.loss);
    ASSERT_EQ(skipped.warnings.size(), 1u);
    EXPECT_EQ(skipped.warnings[0],
              cat("[fit] step 3 (3 of epoch 1) is not finite: rank ", rank_of(2, way.deterministic),
                  ": the input of sample 14 is nan; skipped (1 of 3)"));
    EXPECT_TRUE(expected.warnings.empty());
  }
}

// What compression has left over of it is left out too: else the next step would have it.
TEST(NonFinite, NothingOfASkippedStepIsLeftOver) {
  const Outcome outcome = train(2, rows(24, 8), kWays.back(), options(NonFiniteAction::skip));
  EXPECT_EQ(outcome.warnings.size(), 1u);
  EXPECT_TRUE(std::isfinite(outcome.loss));
}

TEST(NonFinite, SkippingGoesOnAndEndsAtItsLimit) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Outcome once = train(2, rows(24, 7, infinity), kWays[0], options(NonFiniteAction::skip));
  EXPECT_EQ(once.warnings.size(), 1u);
  EXPECT_TRUE(std::isfinite(once.loss));

  FitOptions fit = options(NonFiniteAction::skip);
  fit.epochs = 3;  // 1 of 4 steps is bad in each, so never 3 in a row
  EXPECT_EQ(train(2, rows(24, 7), kWays[0], fit).warnings.size(), 3u);
  fit.global_batch_size = 24;  // all steps are bad
  const std::string message = message_of<CollectiveError>([&] { train(2, rows(24, 7), kWays[0], fit); });
  EXPECT_EQ(
      message,
      "[fit] step 3 (1 of epoch 3) is not finite: rank 1: the input of sample 7 is nan; this has happened "
      "3 times in a row");
}

TEST(NonFinite, AnEpochWhoseStepsWereAllSkippedHasNoMeans) {
  FitOptions fit = options(NonFiniteAction::skip);
  fit.epochs = 2;  // of one step, which is bad
  test::run_ranks(2, [&](Communicator& world) {
    Model model(std::make_unique<Sequential>(Dense({.units = 2, .activation = Activation::softmax})), {3},
                {.communicator = &world, .dtype = DType::f64, .backend = &backend("cpu")});
    model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{}),
                   .loss = std::make_unique<CategoricalCrossentropy>()});
    const InMemoryDataset bad(Tensor::full({6, 3}, kNaN, {.dtype = DType::f64, .backend = &backend("cpu")}),
                              Tensor::zeros({6}, {.dtype = DType::i32, .backend = &backend("cpu")}));
    fit.warn = [](const std::string&) {};
    const History history = model.fit(bad, fit);
    for (const char* name : {"loss", "accuracy"}) {
      ASSERT_EQ(history.values.at(name).size(), 2u);
      for (const double value : history.values.at(name)) EXPECT_TRUE(std::isnan(value)) << name << value;
    }
  });
}

TEST(NonFinite, TheCountOfStepsInARowGoesOnInAResumedRun) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = rows(6, 3);  // every step is bad
  SelfCommunicator world;
  const auto train_to = [&](std::int64_t epochs, bool resume) {
    Model model = make_model(world);
    if (resume) model.load_weights(dir / "model.h5");
    FitOptions fit = options(NonFiniteAction::skip);
    fit.epochs = epochs;
    fit.resume = resume;
    fit.warn = [](const std::string&) {};
    model.fit(data, fit);
    model.save(dir / "model.h5");
  };
  train_to(1, false);
  train_to(2, true);
  EXPECT_THROW(train_to(3, true), CollectiveError) << "the third in a row";
}

/// A loss of 0 whose gradient is 0 / 0: sqrt((y - t)^2) where y = t.
class NaNGradient : public Loss {
 public:
  std::string name() const override { return "nan_gradient"; }
  Variable operator()(const Variable& output, const Tensor&) const override {
    return sqrt(square(sum(output - output, {.axes = {1}})));
  }
};

/// NaN, with a gradient of 1.
class NaNLoss : public Loss {
 public:
  std::string name() const override { return "nan_loss"; }
  Variable operator()(const Variable& output, const Tensor&) const override {
    return sum(output, {.axes = {1}}) + kNaN;
  }
};

TEST(NonFinite, ALossThatIsWorseThanItsGradientIsFoundToo) {
  for (const int ranks : {1, 2})
    test::run_ranks(ranks, [](Communicator& world) {
      Model model = make_model(world, {}, std::make_unique<NaNLoss>());
      const std::string message =
          message_of<CollectiveError>([&] { model.fit(rows(6), options(NonFiniteAction::abort)); });
      EXPECT_TRUE(message.starts_with("[fit] step 1 (1 of epoch 1) is not finite: rank 0: the loss of all "))
          << message;
    });
}

TEST(NonFinite, AGradientThatIsWorseThanItsLossIsFoundToo) {
  SelfCommunicator world;
  Model model = make_model(world, {}, std::make_unique<NaNGradient>());
  EXPECT_EQ(message_of<CollectiveError>([&] { model.fit(rows(6), options(NonFiniteAction::abort)); }),
            "[fit] step 1 (1 of epoch 1) is not finite: rank 0: the losses are finite, but the gradient of "
            "dense/bias is nan");
}

/// What a training of one step over these rows says of it.
std::string said_of(const std::vector<double>& inputs, const std::vector<double>& targets) {
  const auto n = static_cast<std::int64_t>(targets.size());
  std::vector<double> wide;
  for (const double x : inputs) wide.insert(wide.end(), {x, 1.0, 2.0});
  const InMemoryDataset data(Tensor::from<double>({n, 3}, wide, &backend("cpu")),
                             Tensor::from<double>({n, 1}, targets, &backend("cpu")));
  SelfCommunicator world;
  Model model = make_model(world);
  FitOptions fit = options(NonFiniteAction::abort);
  fit.global_batch_size = n;
  const std::string text = message_of<CollectiveError>([&] { model.fit(data, fit); });
  const std::string begin = "[fit] step 1 (1 of epoch 1) is not finite: rank 0: ";
  return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

TEST(NonFinite, SamplesAreCountedWhereThereAreMany) {
  const std::string smaller = ": a smaller learning rate may help";
  EXPECT_EQ(said_of({1, 2, kNaN, 4, kNaN}, {1, 2, 3, 4, 5}), "the input of samples 2, 4 are nan");
  EXPECT_EQ(said_of({1, kNaN, kNaN}, {1, 2, 3}), "the input of samples 1, 2 are nan" + smaller);
  EXPECT_EQ(said_of({kNaN, kNaN}, {1, 2}), "the input of all 2 samples is nan" + smaller);
  EXPECT_EQ(said_of({kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, 1}, {1, 2, 3, 4, 5, 6, 7, 8}),
            "the input of samples 0, 1, 2, 3, 4 and 2 more are nan" + smaller);
}

TEST(NonFinite, LossesAreNamedWhereTheInputsAreGood) {
  EXPECT_EQ(said_of({1, 2, 3}, {1, kNaN, 3}), "the loss of sample 1 is nan");
  EXPECT_EQ(said_of({1, 2, 3}, {1, 2, 1e200}), "the loss of sample 2 is infinite");
  EXPECT_EQ(said_of({1, 2, 3}, {1e154, 1e154, 1}),
            "the loss of each sample is finite, but their sum is infinite: a smaller learning rate may help");
}

TEST(NonFinite, WeightsThatAreAlreadyBadAreNamed) {
  SelfCommunicator world;
  Model model = make_model(world);
  LambdaCallback spoil({.on_train_batch_begin = [&](std::int64_t batch) {
    if (batch == 1) model.arena().values().view(0, {1}).fill(kNaN);
  }});
  FitOptions fit = options(NonFiniteAction::abort);
  fit.callbacks = {&spoil};
  EXPECT_NE(message_of<CollectiveError>([&] { model.fit(rows(12), fit); }).find("step 2 (2 of epoch 1)"),
            std::string::npos);
}

}  // namespace
}  // namespace ronde::test::non_finite
