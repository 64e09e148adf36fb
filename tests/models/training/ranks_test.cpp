// Training on 1 to 4 ranks is the same training.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>

#include <ronde/core/thread_pool.h>
#include <ronde/data/forwarding_dataset.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/top_k_accuracy.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"
#include "watchdog/flight_recorder.h"

namespace ronde::test {
namespace {

using test::run_ranks;

struct Outcome {
  std::vector<double> losses;
  std::string hash;
  Evaluation evaluation;
};

struct Setting {
  DType dtype = DType::f64;
  Backend* backend = &ronde::backend("cpu");
  std::int64_t global_batch = 7;
  std::int64_t micro_batch = 0;
};

constexpr std::int64_t kSteps = 20;

/// 20 steps with dropout; an epoch is one step, so that its loss is that of the step.
Outcome train(int ranks, const Setting& setting) {
  const InMemoryDataset train_data = small_images(53), test_data = small_images(29, 1);
  Outcome result;
  std::mutex lock;
  std::map<std::string, int> hashes;
  run_ranks(ranks, [&](Communicator& world) {
    Model model(small_net(), {6, 6, 1},
                {.communicator = &world, .seed = 5, .dtype = setting.dtype, .backend = setting.backend});
    model.compile(small_compile(0.03));
    const History history = model.fit(train_data, {.global_batch_size = setting.global_batch,
                                                   .epochs = kSteps,
                                                   .steps_per_epoch = 1,
                                                   .repeat = true,
                                                   .micro_batch = setting.micro_batch,
                                                   .verbose = 0});
    const Evaluation evaluation = model.evaluate(test_data, 3);
    const std::string hash = model.weights_sha256();
    const std::lock_guard guard(lock);
    ++hashes[hash];
    if (world.rank() == 0) result = {history.values.at("loss"), hash, evaluation};
  });
  EXPECT_EQ(hashes.size(), 1u) << "the ranks' weights differ";
  return result;
}

void expect_same_curve(const Outcome& a, const Outcome& b, double tolerance) {
  ASSERT_EQ(a.losses.size(), static_cast<std::size_t>(kSteps));
  ASSERT_EQ(b.losses.size(), a.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    EXPECT_NEAR(b.losses[i], a.losses[i], tolerance * a.losses[i]) << "step " << i;
}

TEST(Ranks, SameLossCurveInDoublePrecision) {
  const Outcome one = train(1, {});
  EXPECT_LT(one.losses.back(), 0.8 * one.losses.front()) << "it does not learn, so it proves nothing";
  for (const int ranks : {2, 3, 4}) expect_same_curve(one, train(ranks, {}), 1e-12);
}

TEST(Ranks, SameLossCurveInSinglePrecisionOnEveryBackend) {
  for (Backend* backend : backends()) {
    const Setting setting{.dtype = DType::f32, .backend = backend};
    const Outcome one = train(1, setting);
    for (const int ranks : {2, 3, 4}) expect_same_curve(one, train(ranks, setting), 1e-5);
  }
}

TEST(Ranks, EmptyShards) {
  const Setting setting{.global_batch = 2};
  const Outcome one = train(1, setting);
  for (const int ranks : {3, 4}) expect_same_curve(one, train(ranks, setting), 1e-12);
}

TEST(Ranks, MicroBatchesChangeNothing) {
  const Outcome whole = train(1, {});
  for (const int ranks : {1, 2, 3}) expect_same_curve(whole, train(ranks, {.micro_batch = 2}), 1e-12);
}

TEST(Ranks, EvaluationCountsEverySampleOnce) {
  const Outcome one = train(1, {});
  EXPECT_EQ(one.evaluation.count, 29);
  for (const int ranks : {2, 3, 4}) {
    const Outcome many = train(ranks, {});
    EXPECT_EQ(many.evaluation.count, 29);
    EXPECT_EQ(many.evaluation.correct, one.evaluation.correct);
    EXPECT_NEAR(many.evaluation.loss_sum, one.evaluation.loss_sum, 1e-10);  // the weights differ as much
    EXPECT_EQ(*many.evaluation.logs.find("accuracy"), static_cast<double>(many.evaluation.correct) / 29.0);
  }
}

/// The mean of all outputs' squares: a metric of somebody's own, whose sums round.
class MeanSquare : public Metric {
 public:
  std::string name() const override { return "mean_square"; }
  void update(const Tensor& output, const Tensor&) override {
    for (const double value : output.to_vector<double>()) sum_ += value * value;
    count_ += static_cast<double>(output.count());
  }
  MetricSums sums() const override { return {sum_, count_}; }
  void reset() override { sum_ = count_ = 0.0; }

 private:
  double sum_ = 0.0, count_ = 0.0;
};

// Metrics that count between others.
CompileOptions compile_with_metrics() {
  CompileOptions options = small_compile();
  options.metrics = {std::make_shared<Accuracy>(), std::make_shared<MeanSquare>(),
                     std::make_shared<SparseTopKCategoricalAccuracy>(TopKOptions{.k = 2})};
  return options;
}

TEST(Ranks, EvaluationGivesTheSameBitsOnAnyNumberOfRanksAndThreads) {
  const InMemoryDataset data = small_images(103);
  ThreadPool& pool = default_backend().threads();
  const int before = pool.size();
  std::vector<std::vector<double>> results;
  for (const int threads : {1, 3})
    for (const int ranks : {1, 2, 3, 5, 8, 16}) {
      pool.resize(threads);
      run_ranks(ranks, [&](Communicator& world) {
        Model model(small_net(), {6, 6, 1}, {.communicator = &world, .seed = 5});
        model.compile(compile_with_metrics());
        const Evaluation e = model.evaluate(data, 8);
        if (world.rank() != 0) return;
        results.push_back({e.loss_sum, static_cast<double>(e.correct)});
        for (const auto& [name, value] : e.logs.entries()) results.back().push_back(value);
      });
    }
  pool.resize(before);
  ASSERT_EQ(results.front().size(), 6u);
  EXPECT_EQ(results.front()[1], std::round(results.front()[3] * 103));
  EXPECT_EQ(results, std::vector<std::vector<double>>(results.size(), results.front()));
}

TEST(Ranks, EvaluationWithFewerSamplesThanRanks) {
  const InMemoryDataset two = small_images(2);
  run_ranks(4, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    EXPECT_EQ(model.evaluate(two).count, 2);
  });
}

Model model_with_statistics(Communicator& world) {
  auto net = std::make_unique<Sequential>(Flatten(), BatchNormalization({.momentum = 0.5}),
                                          Dense({.units = 3, .activation = Activation::softmax}));
  Model model(std::move(net), {6, 6, 1}, {.communicator = &world, .seed = 5});
  model.compile(small_compile());
  return model;
}

// In a loop of one's own each rank has the moving statistics of its own batches.
TEST(Ranks, EvaluationIsOfTheModelThatIsSaved) {
  const InMemoryDataset data = small_images(30);
  const TempDir dir(memory_directory());
  std::vector<double> losses;
  for (const int ranks : {3, 1}) {
    run_ranks(ranks, [&](Communicator& world) {
      Model model = model_with_statistics(world);
      if (ranks > 1) {
        const std::int64_t begin = 5 * world.rank();
        model.train_on_batch(data.inputs().slice(0, begin, begin + 5),
                             data.targets().slice(0, begin, begin + 5));
      } else {
        model.load_weights(dir / "model.h5");
      }
      const Evaluation evaluation = model.evaluate(data, 4);
      if (world.rank() == 0) losses.push_back(evaluation.loss_sum);
      if (ranks > 1) model.save(dir / "model.h5");
    });
  }
  EXPECT_EQ(losses[0], losses[1]);
}

// Averaging what all ranks have from a file would only round it.
TEST(Ranks, WhatWasReadIsSavedAsItWas) {
  const InMemoryDataset data = small_images(30);
  const TempDir dir(memory_directory());
  run_ranks(7, [&](Communicator& world) {
    Model model = model_with_statistics(world);
    const auto train = [&] {
      const std::int64_t begin = 4 * world.rank();
      model.train_on_batch(data.inputs().slice(0, begin, begin + 2),
                           data.targets().slice(0, begin, begin + 2));
    };
    train();
    model.save_weights(dir / "first.npz");
    const std::string saved = model.weights_sha256();
    train();
    model.load_weights(dir / "first.npz");
    EXPECT_EQ(model.weights_sha256(), saved);
    model.save_weights(dir / "second.npz");
    EXPECT_EQ(model.weights_sha256(), saved);
  });
}

TEST(Ranks, InitialWeightsAreThoseOfRankZero) {
  std::mutex lock;
  std::map<std::string, int> hashes;
  run_ranks(3, [&](Communicator& world) {
    Model model = small_model({.communicator = &world, .seed = static_cast<std::uint64_t>(world.rank())});
    const std::string hash = model.weights_sha256();
    const std::lock_guard guard(lock);
    ++hashes[hash];
  });
  EXPECT_EQ(hashes.size(), 1u);
}

TEST(Ranks, TrainOnBatchReturnsTheMeanOverAllSamples) {
  const InMemoryDataset data = small_images(12);
  double alone = 0.0;
  {
    Model model(small_net(), {6, 6, 1}, {.dtype = DType::f64, .backend = &backend("cpu")});
    model.compile(small_compile());
    alone = model.evaluate(data).loss_sum / 12;
  }
  run_ranks(2, [&](Communicator& world) {
    auto net =
        std::make_unique<Sequential>(Conv2D({.filters = 4, .activation = Activation::relu}), MaxPooling2D(),
                                     Flatten(), Dense({.units = 3, .activation = Activation::softmax}));
    Model model(std::move(net), {6, 6, 1},
                {.communicator = &world, .dtype = DType::f64, .backend = &backend("cpu")});
    model.compile(small_compile());
    // 9 samples here, 3 there.
    const std::int64_t begin = world.rank() == 0 ? 0 : 9, end = world.rank() == 0 ? 9 : 12;
    const double loss = model.train_on_batch(data.inputs().slice(0, begin, end).to(DType::f64),
                                             data.targets().slice(0, begin, end));
    EXPECT_NEAR(loss, alone, 1e-12);
    EXPECT_EQ(model.progress().steps, 1);
    EXPECT_EQ(model.optimizer().iterations(), 1);
  });
}

// A batch that one rank cannot take ends the step of all; nobody's next step is taken for this one.
TEST(Ranks, GoOnTogetherAfterABatchThatOneOfThemCouldNotTake) {
  const InMemoryDataset data = small_images(12);
  std::mutex lock;
  std::map<std::string, int> hashes;
  run_ranks(2, [&](Communicator& world) {
    Model model(small_net(), {6, 6, 1}, {.communicator = &world, .seed = 5});
    model.compile(small_compile(0.03));
    const Tensor inputs = data.inputs().slice(0, 0, 6), targets = data.targets().slice(0, 0, 6);
    for (int step = 0; step < 4; ++step) {
      const bool is_odd = step == 1 && world.rank() == 1;
      if (step == 1)
        EXPECT_THROW(model.train_on_batch(inputs, is_odd ? targets.slice(0, 0, 5) : targets), Error);
      else
        model.train_on_batch(inputs, targets);
    }
    EXPECT_EQ(model.progress().steps, 3);
    EXPECT_EQ(model.optimizer().iterations(), 3);
    const std::string hash = model.weights_sha256();
    const std::lock_guard guard(lock);
    ++hashes[hash];
  });
  EXPECT_EQ(hashes.size(), 1u) << "the ranks' weights differ";
}

/// Whose pictures this machine cannot read.
class Unreadable final : public ForwardingDataset {
 public:
  using ForwardingDataset::ForwardingDataset;
  void read(std::span<const std::int64_t>, const Tensor&, const Tensor&) const override {
    throw InputError("cat.jpg: damaged");
  }
};

// As the README has it for programs without run_main.
TEST(Ranks, HearOfAnErrorThatOneOfThemThrowsAlone) {
  const InMemoryDataset data = small_images(53);
  const Unreadable unreadable(data);
  const auto errors = test::run_ranks_collecting(2, [&](Communicator& world) {
    Model model(small_net(), {6, 6, 1}, {.communicator = &world});
    model.compile(small_compile(0.03));
    const Dataset& own = world.rank() == 1 ? static_cast<const Dataset&>(unreadable) : data;
    try {
      model.fit(own, {.global_batch_size = 8, .verbose = 0});
    } catch (const Error& error) {
      world.conclude({.status = error.status(), .message = error.what()});
      throw;
    }
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    try {
      std::rethrow_exception(error);
    } catch (const Error& told) {
      EXPECT_EQ(told.status(), ExitStatus::bad_input);
      EXPECT_STREQ(told.what(), "cat.jpg: damaged");
    }
  }
}

// Rather than that their collectives differ, which they would only hear of a step or an epoch later.
TEST(Ranks, AreAskedForTheSameTraining) {
  const InMemoryDataset data = small_images(16);
  const auto refusal = [&](FitOptions second, std::uint64_t seed = 5) {
    std::string told;
    const auto errors = test::run_ranks_collecting(3, [&](Communicator& world) {
      const bool is_second = world.rank() == 1;
      Model model(small_net(), {6, 6, 1}, {.communicator = &world, .seed = is_second ? seed : 5});
      model.compile(small_compile(0.03));
      model.fit(data, is_second ? second : FitOptions{.global_batch_size = 8, .epochs = 2, .verbose = 0});
    });
    for (const auto& error : errors) {
      try {
        if (error) std::rethrow_exception(error);
        ADD_FAILURE() << "no error";
      } catch (const CollectiveError& collective) {
        told = collective.what();
      }
    }
    return told;
  };
  EXPECT_EQ(refusal({.global_batch_size = 8, .epochs = 3, .verbose = 0}),
            "[fit] rank 1 was asked for epochs 3 instead of 2, last step 6 instead of 4, which rank 0 has");
  EXPECT_EQ(
      refusal({.global_batch_size = 4, .epochs = 2, .verbose = 0}),
      "[fit] rank 1 was asked for global_batch 4 instead of 8, steps_per_epoch 4 instead of 2, last step 8 "
      "instead of 4, which rank 0 has");
  EXPECT_EQ(refusal({.global_batch_size = 8, .epochs = 2, .verbose = 0}, 6),
            "[fit] rank 1 was asked for seed 6 instead of 5, which rank 0 has");
}

// Between two collectives a long evaluation shows by its batches alone that it moves.
TEST(Ranks, TellWhoSupervisesTheBatchesOfAnEvaluation) {
  const InMemoryDataset data = small_images(29);
  const HeartbeatFile beats(2);
  run_ranks(2, [&](Communicator& world) {
    HeartbeatSlot& slot = beats.slot(world.rank());
    world.flight_recorder()->beat_in({std::shared_ptr<void>(), &slot});
    Model model(small_net(), {6, 6, 1}, {.communicator = &world});
    model.compile(small_compile(0.03));
    model.evaluate(data, 3);  // 10 batches, shared out
    EXPECT_EQ(slot.batches, 5);
    model.predict(Tensor::zeros({7, 6, 6, 1}), 2);
    EXPECT_EQ(slot.batches, 9);
    world.flight_recorder()->beat_in(nullptr);
  });
}

}  // namespace
}  // namespace ronde::test
