#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include <ronde/core/ops.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/sgd.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

TEST(Fit, LearnsAndReportsEveryEpoch) {
  const InMemoryDataset train = small_images(60), test = small_images(30, 1);
  Model model = small_model();
  const History history =
      model.fit(train, {.batch_size = 8, .epochs = 12, .validation = &test, .verbose = 0});
  EXPECT_EQ(history.epochs.size(), 12u);
  for (const char* key : {"loss", "accuracy", "val_loss", "val_accuracy"})
    ASSERT_EQ(history.values.at(key).size(), 12u) << key;
  EXPECT_LT(history.values.at("loss").back(), 0.5 * history.values.at("loss").front());
  EXPECT_GT(history.values.at("val_accuracy").back(), 0.8);
  const Evaluation evaluation = model.evaluate(test, 4);
  EXPECT_NEAR(*evaluation.logs.find("loss"), history.values.at("val_loss").back(), 1e-6);
  EXPECT_EQ(evaluation.count, 30);
}

TEST(Fit, CallsEveryHookInOrder) {
  const InMemoryDataset data = small_images(10);
  std::string calls;
  LambdaCallback spy(
      {.on_train_begin =
           [&](Model&, const TrainingPlan& plan) {
             calls += cat("begin(", plan.epochs, ",", plan.steps_per_epoch, ",", plan.global_batch, ",",
                          plan.has_validation, ") ");
           },
       .on_train_end = [&](const Logs& logs) { calls += cat("end:", logs.entries().size()); },
       .on_epoch_begin = [&](std::int64_t epoch) { calls += cat("epoch", epoch, "["); },
       .on_epoch_end = [&](std::int64_t, Logs& logs) { calls += cat("]", logs.entries().size(), " "); },
       .on_train_batch_begin = [&](std::int64_t batch) { calls += cat("<", batch); },
       .on_train_batch_end = [&](std::int64_t, const Logs& logs) { calls += logs.find("loss") ? "L>" : ">"; },
       .on_test_begin = [&] { calls += "test("; },
       .on_test_end = [&](const Logs&) { calls += ")"; },
       .wants_batch_logs = true});
  Model model = small_model();
  model.fit(data, {.batch_size = 4, .epochs = 2, .validation = &data, .callbacks = {&spy}, .verbose = 0});
  EXPECT_EQ(calls, "begin(2,3,4,true) epoch0[<0L><1L><2L>test()]4 epoch1[<0L><1L><2L>test()]4 end:4");
}

// As a program does that evaluates with a NoGrad and trains on in the same block.
TEST(Fit, RecordsByItselfWithinANoGrad) {
  const InMemoryDataset data = small_images(8);
  const auto trained = [&](bool within) {
    Model model = small_model();
    std::optional<NoGrad> no_grad;
    if (within) no_grad.emplace();
    bool is_enabled = true;
    LambdaCallback spy(
        {.on_train_batch_end = [&](std::int64_t, const Logs&) { is_enabled = grad_enabled(); }});
    model.fit(data, {.batch_size = 4, .callbacks = {&spy}, .verbose = 0});
    EXPECT_EQ(is_enabled, !within) << "callbacks are as the caller is";
    model.train_on_batch(data.inputs(), data.targets());
    EXPECT_EQ(grad_enabled(), !within);
    EXPECT_THROW(model.train_on_batch(data.inputs(), data.targets().reshape({2, 4})), Error);
    EXPECT_EQ(grad_enabled(), !within);
    return model.weights_sha256();
  };
  EXPECT_EQ(trained(true), trained(false));
}

TEST(Fit, ProgressCountsStepsSamplesAndTime) {
  const InMemoryDataset data = small_images(10);
  Model model = small_model();
  model.fit(data, {.batch_size = 4, .epochs = 2, .verbose = 0});
  const TrainingProgress& progress = model.progress();
  EXPECT_EQ(progress.epochs, 2);
  EXPECT_EQ(progress.steps, 6);
  EXPECT_EQ(progress.epoch_steps, 3);
  EXPECT_EQ(progress.epoch_samples, 10);
  EXPECT_GT(progress.epoch_seconds, 0.0);
  EXPECT_GE(progress.train_seconds, progress.epoch_seconds);
  EXPECT_GT(progress.images_per_second, 0.0);
}

TEST(Fit, ProgressKnowsTheEpochSoFar) {
  const InMemoryDataset data = small_images(10);
  Model model = small_model();
  std::vector<std::int64_t> steps, samples;
  std::vector<double> seconds{0.0};
  LambdaCallback spy({.on_train_batch_end = [&](std::int64_t, const Logs&) {
    steps.push_back(model.progress().epoch_steps);
    samples.push_back(model.progress().epoch_samples);
    EXPECT_GT(model.progress().train_seconds, seconds.back());
    seconds.push_back(model.progress().train_seconds);
  }});
  model.fit(data, {.batch_size = 4, .epochs = 2, .callbacks = {&spy}, .verbose = 0});
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(samples, (std::vector<std::int64_t>{4, 8, 10, 4, 8, 10}));
}

// As a batch of all samples.
TEST(Fit, TakesTheLargestNumbersForAll) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const InMemoryDataset data = small_images(22);
  Model whole = small_model(), most = small_model();
  const History expected =
      whole.fit(data, {.batch_size = 22, .epochs = 2, .validation = &data, .verbose = 0});
  const History history = most.fit(data, {.batch_size = kMost,
                                          .epochs = 2,
                                          .max_steps = kMost,
                                          .micro_batch = kMost,
                                          .validation = &data,
                                          .validation_batch_size = kMost,
                                          .verbose = 0});
  EXPECT_EQ(most.weights_sha256(), whole.weights_sha256());
  EXPECT_EQ(history.values.at("val_loss"), expected.values.at("val_loss"));
  EXPECT_EQ(most.evaluate(data, kMost).loss_sum, whole.evaluate(data, 22).loss_sum);
}

TEST(Fit, TakesTheLargestBatchOnTwoRanks) {
  const InMemoryDataset data = small_images(22);
  test::run_ranks(2, [&](Communicator& world) {
    Model model(small_net(), {6, 6, 1}, {.communicator = &world});
    model.compile(small_compile());
    model.fit(data, {.batch_size = std::numeric_limits<std::int64_t>::max() - 1, .verbose = 0});
    EXPECT_EQ(model.progress().steps, 1);
  });
}

TEST(Fit, MayGoOnUntilItIsStopped) {
  const InMemoryDataset data = small_images(22);
  Model model = small_model();
  LambdaCallback stop({.on_epoch_end = [&](std::int64_t epoch, Logs&) {
    if (epoch == 2) model.stop_training();
  }});
  const FitOptions forever{.batch_size = 8,
                           .epochs = std::numeric_limits<std::int64_t>::max(),
                           .callbacks = {&stop},
                           .verbose = 0};
  EXPECT_EQ(model.fit(data, forever).epochs.size(), 3u);
  EXPECT_EQ(model.progress().steps, 9);
}

TEST(Fit, NeedsAWeightThatIsTrained) {
  const InMemoryDataset data = small_images(8);
  Model model = small_model();
  model.module().set_trainable(false);
  model.compile(small_compile());
  for (const char* verb : {"fit", "train_on_batch"})
    EXPECT_EQ(
        message_of<UsageError>([&] {
          if (std::string(verb) == "fit")
            model.fit(data, {.verbose = 0});
          else
            model.train_on_batch(Tensor::zeros({1, 6, 6, 1}), Tensor::zeros({1}, {.dtype = DType::i32}));
        }),
        cat("[", verb,
            "] no weight of the net is trainable: unfreeze a layer (set_trainable) and compile again"));
  EXPECT_EQ(model.evaluate(data).count, 8);
  model.module().set_trainable(true);  // which counts from the next compile on
  EXPECT_THROW(model.fit(data, {.verbose = 0}), UsageError);
  model.compile(small_compile());
  model.fit(data, {.verbose = 0});
}

TEST(Fit, GoesOnWhereAnotherFitEnded) {
  const InMemoryDataset data = small_images(22);
  Model whole = small_model(), parts = small_model();
  whole.fit(data, {.batch_size = 5, .epochs = 3, .verbose = 0});
  parts.fit(data, {.batch_size = 5, .epochs = 1, .verbose = 0});
  parts.fit(data, {.batch_size = 5, .epochs = 3, .initial_epoch = 1, .verbose = 0});
  EXPECT_EQ(whole.weights_sha256(), parts.weights_sha256());
}

/// A model that drops most of what it sees and learns nothing.
Model dropping_model() {
  Model model(std::make_unique<Sequential>(Flatten(), Dropout(0.9), Dense({.units = 3})), {6, 6, 1});
  model.compile(
      {.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.0}),
       .loss = std::make_unique<SparseCategoricalCrossentropy>(CrossentropyOptions{.from_logits = true})});
  return model;
}

// Keras draws on; here the numbers of the passes over the data go on, in a file too.
TEST(Fit, AFurtherFitSeesNewMasksAndOrders) {
  const InMemoryDataset data = small_images(22);
  const FitOptions one{.batch_size = 5, .epochs = 1, .verbose = 0};
  const auto loss = [&](Model& model, const FitOptions& options) {
    return model.fit(data, options).values.at("loss").back();
  };
  Model whole = dropping_model(), parts = dropping_model();
  const std::vector<double> losses =
      whole.fit(data, {.batch_size = 5, .epochs = 4, .verbose = 0}).values.at("loss");
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_EQ(loss(parts, one), losses[0]);
  EXPECT_EQ(loss(parts, one), losses[1]);
  const TempDir dir;
  parts.save(dir / "two.h5");
  EXPECT_EQ(loss(parts, one), losses[2]);
  Model loaded = Model::load(dir / "two.h5");
  EXPECT_EQ(loss(loaded, one), losses[2]);
  // Within the third pass, after which nothing of the fourth is taken.
  const auto cut = [](std::int64_t steps) {
    return FitOptions{.batch_size = 5, .epochs = 1, .max_steps = steps, .verbose = 0};
  };
  Model again = Model::load(dir / "two.h5");
  again.fit(data, cut(2));
  again.save(dir / "within.h5");
  EXPECT_EQ(loss(again, one), losses[3]);
  Model resumed = Model::load(dir / "within.h5");
  EXPECT_EQ(loss(resumed, {.batch_size = 5, .epochs = 1, .resume = true, .verbose = 0}), losses[2]);
  // As an older Ronde wrote it.
  SavedModel old = read_saved_model(dir / "two.h5");
  old.state->run->first_pass = 0;
  write_saved_model(dir / "old.h5", old);
  Model of_old = Model::load(dir / "old.h5");
  EXPECT_NE(loss(of_old, one), losses[0]);
}

TEST(Fit, AFurtherFitTakesOtherOrders) {
  const InMemoryDataset data = small_images(22);
  const auto weights_after = [&](const std::vector<FitOptions>& calls) {
    Model model = small_model();
    for (FitOptions options : calls) {
      options.batch_size = 11;
      options.verbose = 0;
      model.fit(data, options);
    }
    return model.weights_sha256();
  };
  EXPECT_EQ(weights_after({{.epochs = 1}, {.epochs = 1}}), weights_after({{.epochs = 2}}));
  EXPECT_EQ(weights_after({{.epochs = 2, .passes = 2}, {.epochs = 1}}), weights_after({{.epochs = 5}}));
  // The last one goes on with the numbers of the second.
  EXPECT_EQ(weights_after({{.epochs = 1}, {.epochs = 1}, {.epochs = 2, .initial_epoch = 1}}),
            weights_after({{.epochs = 3}}));
}

TEST(Fit, WithNothingLeftToDoTakesNoTime) {
  const InMemoryDataset data = small_images(8);
  Model model = small_model();
  model.fit(data, {.epochs = 1, .verbose = 0});
  EXPECT_GT(model.progress().train_seconds, 0.0);
  model.fit(data, {.epochs = 1, .initial_epoch = 1, .verbose = 0});
  EXPECT_EQ(model.progress().train_seconds, 0.0);
  EXPECT_EQ(model.progress().epoch_steps, 0);
}

TEST(Fit, StopsWhenAskedTo) {
  const InMemoryDataset data = small_images(8);
  Model model = small_model();
  LambdaCallback stop({.on_epoch_end = [&](std::int64_t epoch, Logs&) {
    if (epoch == 1) model.stop_training();
  }});
  EXPECT_EQ(model.fit(data, {.epochs = 9, .callbacks = {&stop}, .verbose = 0}).epochs.size(), 2u);
  EXPECT_EQ(model.fit(data, {.epochs = 3, .verbose = 0}).epochs.size(), 3u) << "it was for that training";
}

// What the first step prepares is not its speed.
TEST(Fit, SpeedsLeaveOutTheFirstStep) {
  Model model = small_model();
  model.fit(small_images(8), {.batch_size = 8, .epochs = 1, .verbose = 0});
  EXPECT_EQ(model.progress().images_per_second, 0.0);
  EXPECT_GT(model.progress().train_seconds, 0.0);
}

TEST(Fit, NonFiniteLossEndsTrainingOnAllRanks) {
  std::vector<float> pixels(36 * 8, 0.1f);
  pixels[36 * 7 + 5] = std::numeric_limits<float>::quiet_NaN();  // one sample, so on one rank
  const InMemoryDataset data(Tensor::from<float>({8, 6, 6, 1}, pixels),
                             Tensor::from<std::int32_t>({8}, {0, 1, 2, 0, 1, 2, 0, 1}));
  const auto errors = test::run_ranks_collecting(3, [&](Communicator& world) {
    Model model(std::make_unique<Sequential>(Flatten(), Dense({.units = 3})), {6, 6, 1},
                {.communicator = &world});
    model.compile(small_compile());
    model.fit(data, {.global_batch_size = 8, .epochs = 5, .verbose = 0});
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      EXPECT_EQ(e.status(), ExitStatus::non_finite) << e.what();
    }
  }
}

TEST(Fit, WrongUsageIsSaidBeforeAnyWork) {
  const InMemoryDataset data = small_images(8);
  const InMemoryDataset other(Tensor::zeros({4, 5, 5, 1}), Tensor::zeros({4}, {.dtype = DType::i32}));
  Model bare(small_net(), {6, 6, 1});
  EXPECT_THROW(bare.fit(data, {}), UsageError);
  EXPECT_THROW(bare.evaluate(data), UsageError);
  Model model = small_model();
  EXPECT_THROW(model.fit(data, {.batch_size = 0}), UsageError);
  EXPECT_THROW(model.fit(data, {.epochs = 1, .initial_epoch = 2}), UsageError);
  EXPECT_THROW(model.fit(data, {.repeat = true}), UsageError);
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, {.micro_batch = -2}); }),
            "[fit] steps_per_epoch, micro_batch and max_steps must not be negative, got 0, -2 and 0");
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(other, {}); }),
            "[fit] the net takes inputs of shape (6, 6, 1), the data set has (5, 5, 1)");
  EXPECT_THROW(model.fit(data, {.validation = &other}), UsageError);
  Callback callback;
  EXPECT_EQ(message_of<UsageError>([&] {
              model.fit(data, {.callbacks = {&callback, nullptr}});
            }),
            "[fit] callbacks: number 2 of 2 is null");
  EXPECT_THROW(model.predict(Tensor::zeros({2, 5, 5, 1})), UsageError);
  EXPECT_EQ(model.progress().steps, 0);
}

TEST(Fit, MovingStatisticsAreTheSameOnAllRanks) {
  const InMemoryDataset data = small_images(21);
  std::vector<std::string> hashes(3);
  test::run_ranks(3, [&](Communicator& world) {
    auto net = std::make_unique<Sequential>(Conv2D({.filters = 2}), BatchNormalization(), Flatten(),
                                            Dense({.units = 3, .activation = Activation::softmax}));
    Model model(std::move(net), {6, 6, 1}, {.communicator = &world});
    model.compile(small_compile());
    model.fit(data, {.batch_size = 2, .epochs = 2, .verbose = 0});
    hashes[static_cast<std::size_t>(world.rank())] = model.weights_sha256();
  });
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

/// A net of the user's own: two ways, added.
struct Branches : Module {
  Dense left{{.units = 5, .activation = Activation::tanh}};
  Dense right{{.units = 5}};
  Dense out{{.units = 3, .activation = Activation::softmax}};
  Branches() {
    add_module("left", left);
    add_module("right", right);
    add_module("out", out);
  }
  Variable forward(const Variable& x, const Context& context) override {
    const Variable flat = reshape(x, {x.size(0), -1});
    return out(left(flat, context) + right(flat, context) * 0.5, context);
  }
};

TEST(Fit, TrainsAModuleWithABranch) {
  const InMemoryDataset data = small_images(40);
  Branches net;
  Model model(net, {6, 6, 1});
  model.compile(small_compile(0.02));
  const History history = model.fit(data, {.batch_size = 8, .epochs = 15, .verbose = 0});
  EXPECT_LT(history.values.at("loss").back(), 0.3 * history.values.at("loss").front());
}

TEST(Predict, IsTheSameForEveryBatchSize) {
  const InMemoryDataset data = small_images(11);
  Model model = small_model();
  const std::vector<float> at_once = model.predict(data.inputs(), 32).to_vector<float>();
  ASSERT_EQ(at_once.size(), 33u);
  const std::vector<float> in_parts = model.predict(data.inputs(), 4).to_vector<float>();
  for (std::size_t i = 0; i < at_once.size(); ++i) EXPECT_NEAR(at_once[i], in_parts[i], 1e-6);
  EXPECT_EQ(model.predict(data.inputs().slice(0, 0, 0)).shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace ronde::test
