#include <ronde/models/train_and_evaluate.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <ronde/models/lambda_callback.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 17;  // two epochs of 6 steps, and one that is cut short

class TrainAndEvaluate : public ::testing::Test {
 protected:
  RunConfig config() const { return {.model_dir = directory_.string(), .save_checkpoints_steps = 5}; }
  TrainSpec training(std::int64_t steps) const {
    return {.data = &train_, .max_steps = steps, .fit = {.batch_size = 8, .verbose = 0}};
  }
  EvalSpec evaluation() const {
    return {.data = &test_, .batch_size = 10, .start_delay_secs = 0.0, .throttle_secs = 0.0};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::vector<std::int64_t> steps_of(const TrainAndEvaluateResult& result) {
    std::vector<std::int64_t> steps;
    for (const EvalResult& one : result.evaluations) steps.push_back(one.steps);
    return steps;
  }
  /// The weights of a training that nothing interrupts and nobody evaluates.
  std::string undisturbed(std::int64_t steps) const {
    Model model = small_model();
    FitOptions options = training(steps).fit;
    options.epochs = 100;
    options.max_steps = steps;
    model.fit(train_, options);
    return model.weights_sha256();
  }

  InMemoryDataset train_ = small_images(48), test_ = small_images(23, 1);
  const TempDir temporary_;
  const fs::path directory_ = temporary_.path();
};

TEST_F(TrainAndEvaluate, EvaluatesAfterCheckpointsAndAtTheEnd) {
  Model model = small_model();
  Estimator estimator(model, config());
  const TrainAndEvaluateResult result = train_and_evaluate(estimator, training(kSteps), evaluation());
  EXPECT_EQ(steps_of(result), (std::vector<std::int64_t>{5, 10, 15, 17}));
  EXPECT_EQ(files(), (std::vector<std::string>{"model-001-00005.h5", "model-002-00004.h5",
                                               "model-003-00003.h5", "model-003-00005.h5"}));
  EXPECT_EQ(estimator.latest_checkpoint(), directory_ / "model-003-00005.h5");
  EXPECT_EQ(model.progress().steps, kSteps);
  EXPECT_EQ(model.weights_sha256(), undisturbed(kSteps));

  // Each evaluation is of the weights that the checkpoint of its step holds.
  Model saved = small_model();
  saved.load_weights(directory_ / "model-002-00004.h5");
  EXPECT_EQ(result.evaluations[1].evaluation.loss_sum, saved.evaluate(test_, 10).loss_sum);
  EXPECT_EQ(result.evaluations[3].evaluation.loss_sum, model.evaluate(test_, 10).loss_sum);
  EXPECT_EQ(result.evaluations[3].evaluation.count, 23);
  // Two epochs have ended; the third may go on later.
  EXPECT_EQ(result.history.epochs, (std::vector<std::int64_t>{0, 1}));
}

TEST_F(TrainAndEvaluate, KeepsTheLastCheckpoints) {
  RunConfig few = config();
  few.keep_checkpoint_max = 2;
  Model model = small_model();
  Estimator(model, few).train(training(kSteps));
  EXPECT_EQ(files(), (std::vector<std::string>{"model-003-00003.h5", "model-003-00005.h5"}));
}

TEST_F(TrainAndEvaluate, ThrottlesEvaluations) {
  Model model = small_model();
  EvalSpec rare = evaluation();
  rare.throttle_secs = 1e6;
  Estimator first(model, {.model_dir = directory_ / "a", .save_checkpoints_steps = 5});
  EXPECT_EQ(steps_of(train_and_evaluate(first, training(kSteps), rare)), (std::vector<std::int64_t>{5, 17}));

  Model other = small_model();
  EvalSpec late = evaluation();
  late.start_delay_secs = 1e6;
  Estimator second(other, {.model_dir = directory_ / "b", .save_checkpoints_steps = 5});
  EXPECT_EQ(steps_of(train_and_evaluate(second, training(kSteps), late)), std::vector<std::int64_t>{17});
}

TEST_F(TrainAndEvaluate, EvaluatesOnSoManyBatches) {
  Model model = small_model();
  EvalSpec short_one = evaluation();
  short_one.steps = 2;
  std::int64_t told = 0;
  short_one.on_result = [&](const EvalResult& result) { told = result.evaluation.count; };
  Estimator estimator(model, config());
  estimator.train(training(5));
  EXPECT_EQ(estimator.evaluate(short_one).evaluation.count, 20);
  EXPECT_EQ(told, 20);
}

TEST_F(TrainAndEvaluate, EvaluatesOnSoManyBatchesOfEachRank) {
  test::run_ranks(2, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    Estimator estimator(model, config());
    EvalSpec spec = evaluation();
    spec.batch_size = 4;
    spec.steps = 2;
    EXPECT_EQ(train_and_evaluate(estimator, training(1), spec).evaluations.back().evaluation.count, 16);
  });
}

// Evaluations are the EvalSpec's.
TEST_F(TrainAndEvaluate, DoesNotValidateWithinTraining) {
  Model model = small_model();
  Estimator estimator(model, config());
  TrainSpec spec = training(12);
  spec.fit.validation = &test_;
  const History history = train_and_evaluate(estimator, spec, evaluation()).history;
  EXPECT_EQ(history.epochs.size(), 2u);
  EXPECT_FALSE(history.values.contains("val_loss"));
}

TEST_F(TrainAndEvaluate, GoesOnFromTheDirectory) {
  for (const std::int64_t steps : {7, 12, 17}) {  // within an epoch, at its end, within another
    Model model = small_model();
    Estimator estimator(model, config());
    const TrainAndEvaluateResult result = train_and_evaluate(estimator, training(steps), evaluation());
    EXPECT_EQ(result.evaluations.back().steps, steps);
    EXPECT_EQ(model.weights_sha256(), undisturbed(steps));
  }
}

TEST_F(TrainAndEvaluate, GoesOnWithinOneProcess) {
  Model model = small_model();
  Estimator estimator(model, config());
  estimator.train(training(7));
  estimator.train(training(kSteps));
  EXPECT_EQ(model.weights_sha256(), undisturbed(kSteps));
}

TEST_F(TrainAndEvaluate, OnlyEvaluatesWhenAllStepsAreDone) {
  Model model = small_model();
  Estimator estimator(model, config());
  estimator.train(training(kSteps));
  Model again = small_model();
  Estimator other(again, config());
  const TrainAndEvaluateResult result = train_and_evaluate(other, training(kSteps), evaluation());
  EXPECT_TRUE(result.history.epochs.empty());
  EXPECT_EQ(steps_of(result), std::vector<std::int64_t>{kSteps});
  EXPECT_EQ(again.weights_sha256(), model.weights_sha256());
}

TEST_F(TrainAndEvaluate, PassesOverADamagedCheckpoint) {
  {
    Model model = small_model();
    Estimator(model, config()).train(training(10));
  }
  std::ofstream(directory_ / "model-002-00004.h5", std::ios::app) << "x";
  RunConfig loud = config();
  std::string problem;
  loud.warn = [&](const std::string& text) { problem = text; };
  Model model = small_model();
  Estimator estimator(model, loud);
  EXPECT_NE(problem.find("model-002-00004.h5"), std::string::npos) << problem;
  EXPECT_TRUE(problem.ends_with(": passed over")) << problem;
  EXPECT_EQ(model.progress().steps, 5);
  estimator.train(training(kSteps));
  EXPECT_EQ(model.weights_sha256(), undisturbed(kSteps));
}

TEST_F(TrainAndEvaluate, StartsAfreshWhenAsked) {
  Model model = small_model();
  Estimator(model, config()).train(training(7));
  RunConfig afresh = config();
  afresh.resume = "";
  Model other = small_model();
  Estimator estimator(other, afresh);
  EXPECT_EQ(other.progress().steps, 0);
  EXPECT_EQ(message_of<UsageError>([&] { estimator.evaluate(evaluation()); }).substr(0, 33),
            "[estimator] nothing to evaluate: ");
}

TEST_F(TrainAndEvaluate, PredictsSampleBySample) {
  Model model = small_model();
  Estimator estimator(model, config());
  std::vector<Prediction> all;
  estimator.predict(test_, {.first = 3, .count = 11, .batch_size = 4},
                    [&](const Prediction& one) { all.push_back(one); });
  ASSERT_EQ(all.size(), 11u);
  const Tensor scores = model.predict(test_.inputs(), 23);
  const std::vector<float> expected = scores.to_vector<float>();
  const std::vector<std::int32_t> labels = test_.targets().to_vector<std::int32_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].sample, static_cast<std::int64_t>(i) + 3);
    EXPECT_EQ(all[i].label, labels[i + 3]);
    ASSERT_EQ(all[i].outputs.size(), 3u);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(all[i].outputs[k], expected[(i + 3) * 3 + k], 1e-6);
      EXPECT_LE(all[i].outputs[k], all[i].outputs[static_cast<std::size_t>(all[i].best())]);
    }
  }
  std::int64_t count = 0;
  predict_samples(model, test_, {.first = 20}, [&](const Prediction&) { ++count; });
  EXPECT_EQ(count, 3);
}

TEST_F(TrainAndEvaluate, RanksEvaluateAndSaveTogether) {
  std::vector<std::string> hashes(2);
  std::vector<std::int64_t> counts(2);
  test::run_ranks(2, [&](Communicator& communicator) {
    Model model = small_model({.communicator = &communicator});
    Estimator estimator(model, config());
    const TrainAndEvaluateResult result = train_and_evaluate(estimator, training(7), evaluation());
    const auto rank = static_cast<std::size_t>(communicator.rank());
    hashes[rank] = model.weights_sha256();
    for (const EvalResult& one : result.evaluations) counts[rank] += one.evaluation.count;
  });
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{46, 46}));
  EXPECT_EQ(files(), (std::vector<std::string>{"model-002-00002.h5", "model-003-00001.h5"}));
}

// A fit of its own: the epoch that max_steps cuts short is not ended.
TEST_F(TrainAndEvaluate, MaxStepsOfFit) {
  Model model = small_model();
  std::int64_t epochs = 0, steps = 0, last_step = 0;
  LambdaCallback count(
      {.on_train_begin = [&](Model&, const TrainingPlan& plan) { last_step = plan.last_step; },
       .on_epoch_end = [&](std::int64_t, Logs&) { ++epochs; },
       .on_train_batch_end = [&](std::int64_t, const Logs&) { ++steps; }});
  FitOptions options = training(0).fit;
  options.epochs = 2;
  options.max_steps = 8;
  options.callbacks = {&count};
  model.fit(train_, options);
  EXPECT_EQ(epochs, 1);
  EXPECT_EQ(steps, 8);
  EXPECT_EQ(last_step, 8);
  options.max_steps = 100;  // more than the epochs have
  options.resume = true;
  model.fit(train_, options);
  EXPECT_EQ(epochs, 2);
  EXPECT_EQ(steps, 12);
  EXPECT_EQ(model.weights_sha256(), undisturbed(12));
}

}  // namespace
}  // namespace ronde::test
