#include <gtest/gtest.h>
#include <regex.h>

#include <algorithm>

#include <ronde/models/lambda_callback.h>
#include <ronde/models/progress_bar.h>

#include "callbacks/progress_text.h"
#include "models/testing.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

Logs logs(std::initializer_list<std::pair<const char*, double>> entries) {
  Logs result;
  for (const auto& [name, value] : entries) result.set(name, value);
  return result;
}

// The lines that Keras 2 prints for these values.
TEST(ProgressText, Bar) {
  EXPECT_EQ(bar_text({1, 469, 0.5, 192.0 / 468}, logs({{"loss", 2.3101}, {"accuracy", 0.0859}}), false),
            "  1/469 [..............................] - ETA: 3:12 - loss: 2.3101 - accuracy: 0.0859");
  EXPECT_EQ(bar_text({235, 469, 5.0, 4.0 / 234}, logs({{"loss", 0.3982}, {"accuracy", 0.8771}}), false),
            "235/469 [==============>...............] - ETA: 4s - loss: 0.3982 - accuracy: 0.8771");
  EXPECT_EQ(
      bar_text({469, 469, 9.2, 0.019},
               logs({{"loss", 0.2311}, {"accuracy", 0.9301}, {"val_loss", 0.0512}, {"val_accuracy", 0.9834}}),
               true),
      "469/469 [==============================] - 9s 19ms/step - loss: 0.2311 - accuracy: 0.9301 - "
      "val_loss: 0.0512 - val_accuracy: 0.9834");
}

TEST(ProgressText, Line) {
  EXPECT_EQ(
      line_text(
          {469, 469, 9.0, 0.019},
          logs({{"loss", 0.2311}, {"accuracy", 0.9301}, {"val_loss", 0.0512}, {"val_accuracy", 0.9834}})),
      "469/469 - 9s - loss: 0.2311 - accuracy: 0.9301 - val_loss: 0.0512 - val_accuracy: 0.9834 - 9s/epoch - "
      "19ms/step");
}

TEST(ProgressText, SpeedStandsBehindWhatKerasPrints) {
  EXPECT_TRUE(bar_text({.steps = 1, .target = 2, .samples_per_second = 6740.4}, logs({{"loss", 0.5}}), false)
                  .ends_with(" - loss: 0.5000 - 6740 images/s"));
  EXPECT_TRUE(
      line_text({.steps = 2, .target = 2, .samples_per_second = 3.26}, {}).ends_with(" - 3.3 images/s"));
  EXPECT_TRUE(line_text({.steps = 2, .target = 2, .samples_per_second = 32.6, .are_images = false}, {})
                  .ends_with(" - 33 samples/s"));
}

TEST(ProgressText, FitsTheWindow) {
  const ProgressState state{
      .steps = 235, .target = 469, .seconds_per_step = 4.0 / 234, .samples_per_second = 6740};
  const Logs values = logs({{"loss", 0.3982}, {"accuracy", 0.8771}});
  EXPECT_EQ(fitting_bar_text(state, values, 200), bar_text(state, values, false));
  EXPECT_EQ(fitting_bar_text(state, values, 90),
            "235/469 [=========>..........] - ETA: 4s - loss: 0.3982 - accuracy: 0.8771 - 6740 images/s");
  EXPECT_EQ(fitting_bar_text(state, values, 50), "235/469 [====>.....] - ETA: 4s - loss: 0.3982 - ac");
}

TEST(ProgressText, UnitsOfTime) {
  const auto text = [](double per_step, bool final) { return bar_text({1, 2, 0.0, per_step}, {}, final); };
  const std::string bar = "1/2 [==============>...............] - ";
  EXPECT_EQ(text(2.0, true), bar + "0s 2s/step");
  EXPECT_EQ(text(0.0, true), bar + "0s 0s/step");
  EXPECT_EQ(text(0.0123, true), bar + "0s 12ms/step");
  EXPECT_EQ(text(0.000456, true), bar + "0s 456us/step");
  EXPECT_EQ(text(3725.0, false), bar + "ETA: 1:02:05");
  EXPECT_EQ(text(60.0, false), bar + "ETA: 60s");
}

TEST(ProgressText, SmallValuesHaveAnExponent) {
  EXPECT_NE(
      bar_text({1, 2, 0, 0}, logs({{"a", 0.001}, {"b", -0.0011}}), false).find("a: 1.0000e-03 - b: -0.0011"),
      std::string::npos);
}

TEST(ProgressBar, CountsTheStepsOfARunThatWasResumedWithinAnEpoch) {
  Model model = small_model();
  ProgressBar bar({.style = ProgressStyle::lines});
  const TrainingPlan plan{.epochs = 1, .initial_step = 7, .resumed = true, .steps_per_epoch = 9};
  const std::string text = printed([&] {
    bar.attach(model, plan);
    bar.on_train_begin(model, plan);
    bar.on_epoch_begin(0);
    for (const std::int64_t batch : {7, 8}) {
      bar.on_train_batch_begin(batch);
      bar.on_train_batch_end(batch, {});
    }
    Logs values = logs({{"loss", 0.5}});
    bar.on_epoch_end(0, values);
  });
  EXPECT_TRUE(text.starts_with("9/9 - 0s - loss: 0.5000 - ")) << text;
}

TEST(ProgressBar, CountsTheStepsOfARunThatWasResumedBehindTheLastStepOfAnEpoch) {
  Model model = small_model();
  ProgressBar bar({.style = ProgressStyle::lines});
  const TrainingPlan plan{
      .epochs = 3, .initial_epoch = 1, .initial_step = 9, .resumed = true, .steps_per_epoch = 9};
  const std::string text = printed([&] {
    bar.attach(model, plan);
    bar.on_train_begin(model, plan);
    for (const std::int64_t epoch : {1, 2}) {
      bar.on_epoch_begin(epoch);
      Logs values = logs({{"loss", 0.5}});
      bar.on_epoch_end(epoch, values);
    }
  });
  EXPECT_TRUE(text.starts_with("Epoch 2/3\n9/9 - 0s - loss: 0.5000 - ")) << text;
  EXPECT_NE(text.find("Epoch 3/3\n0/9 - "), std::string::npos) << text;
}

TEST(ProgressBar, EndsTheLineThatAFailureLeavesOpen) {
  Model model = small_model();
  const TrainingPlan plan{.epochs = 1, .steps_per_epoch = 9};
  const auto text = [&](bool ends) {
    return printed([&] {
      ProgressBar bar;
      bar.attach(model, plan);
      bar.on_train_begin(model, plan);
      bar.on_epoch_begin(0);
      bar.on_train_batch_begin(0);
      bar.on_train_batch_end(0, logs({{"loss", 0.5}}));
      Logs values = logs({{"loss", 0.5}});
      if (ends) bar.on_epoch_end(0, values);
    });
  };
  EXPECT_TRUE(text(false).ends_with(" - loss: 0.5000\n")) << text(false);
  EXPECT_FALSE(text(true).ends_with("\n\n")) << text(true);
}

std::string fit_output(int verbose, std::int64_t epochs) {
  const InMemoryDataset data = small_images(12);
  return printed([&] {
    Model model = small_model();
    model.fit(data, {.batch_size = 4, .epochs = epochs, .validation = &data, .verbose = verbose});
  });
}

/// Whether the whole text matches a POSIX extended expression.
bool matches(const std::string& text, const std::string& expression) {
  regex_t compiled;
  if (regcomp(&compiled, ("^" + expression + "$").c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

const std::string kDuration = "[0-9]+(s|ms|us)";
const std::string kNumber = R"([0-9]\.[0-9]{4}(e-[0-9]+)?)";
const std::string kSpeed = R"( - [0-9]+(\.[0-9])? images/s)";
const std::string kValues = " - loss: " + kNumber + " - accuracy: " + kNumber + " - val_loss: " + kNumber +
                            " - val_accuracy: " + kNumber;

TEST(ProgressBar, OneLineAnEpoch) {
  const std::string line =
      "3/3 - [0-9]+s" + kValues + " - " + kDuration + "/epoch - " + kDuration + "/step" + kSpeed + "\n";
  const std::string text = fit_output(2, 2);
  EXPECT_TRUE(matches(text, "Epoch 1/2\n" + line + "Epoch 2/2\n" + line)) << text;
  const std::string one = fit_output(2, 1);
  EXPECT_TRUE(matches(one, line)) << one;
}

TEST(ProgressBar, BarEndsWithTheWholeEpoch) {
  const std::string text = fit_output(1, 1);
  EXPECT_NE(text.find("1/3 [=========>....................] - ETA: "), std::string::npos) << text;
  const std::string last = text.substr(text.rfind("3/3"));
  EXPECT_TRUE(matches(last, R"(3/3 \[={30}\] - [0-9]+s )" + kDuration + "/step" + kValues + kSpeed + "\n"))
      << last;
}

TEST(ProgressBar, SamplesThatAreNoImages) {
  const Tensor rows = Tensor::full({4, 2}, 1.0), values = Tensor::full({4, 1}, 1.0);
  const std::string text = printed([&] {
    Model model(std::make_unique<Dense>(DenseOptions{.units = 1}), {2});
    model.compile({.optimizer = std::make_unique<Adam>(), .loss = make_loss("mse")});
    model.fit(InMemoryDataset(rows, values), {.batch_size = 2, .verbose = 2});
  });
  EXPECT_TRUE(text.ends_with(" samples/s\n")) << text;
}

TEST(ProgressBar, SilentWhenAskedTo) {
  EXPECT_EQ(fit_output(0, 2), "");
}

TEST(ProgressBar, ShowsWhatOtherCallbacksAddAndOnlyOnRankZero) {
  const InMemoryDataset data = small_images(12);
  const std::string text = printed([&] {
    test::run_ranks(3, [&](Communicator& world) {
      LambdaCallback rate({.on_epoch_end = [](std::int64_t, Logs& logs) { logs.set("lr", 0.25); }});
      Model model = small_model({.communicator = &world});
      model.fit(data, {.batch_size = 2, .epochs = 2, .callbacks = {&rate}, .verbose = 2});
    });
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_NE(text.find(" - lr: 0.2500 - "), std::string::npos) << text;
}

}  // namespace
}  // namespace ronde::test
