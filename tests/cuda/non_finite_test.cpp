// Updates that would make weights NaN or infinite: the device refuses them, and the host hears of it.
#include <cmath>

#include <ronde/models/lambda_callback.h>
#include <ronde/models/save_point.h>
#include <ronde/models/saved_model.h>
#include <ronde/nn/sgd.h>

#include "cuda/digits.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

// Whether an update would spoil the weights is decided on the device, in the graph; the host hears of it once
// a step.
TEST(CudaNonFinite, AStepThatIsLookedAtIsOneGraphToo) {
  const auto trained = [](std::int64_t steps, NonFiniteAction action, std::int64_t& launches,
                          std::int64_t& reads) {
    FakeDevice device;
    Model model = digits_model(device.backend, DType::bf16);
    model.fit(digits(),
              {.batch_size = 4, .max_steps = steps, .non_finite = {.action = action}, .verbose = 0});
    EXPECT_EQ(device.runtime.replays(), steps - 2);
    launches = device.runtime.launches();
    reads = device.runtime.reads();
    return model.weights_sha256();
  };
  std::int64_t launches[3], reads[3];
  trained(5, NonFiniteAction::abort, launches[0], reads[0]);
  const std::string weights = trained(9, NonFiniteAction::abort, launches[1], reads[1]);
  // That of the loader, and a copy of what batch normalization has added up.
  EXPECT_EQ(launches[1] - launches[0], 4 * 2);
  EXPECT_EQ(reads[1] - reads[0], 4);
  EXPECT_EQ(weights, trained(9, NonFiniteAction::finish_epoch, launches[2], reads[2]));
}

/// digits(), and a pixel of some samples like this.
InMemoryDataset digits_with(float value, std::initializer_list<std::int64_t> samples) {
  const InMemoryDataset data = digits();
  std::vector<float> pixels = data.inputs().to_vector<float>();
  for (const std::int64_t sample : samples) pixels[static_cast<std::size_t>(64 * sample + 5)] = value;
  return {Tensor::from<float>({40, 8, 8, 1}, pixels), data.targets()};
}

// Before there is a graph, in it twice in a row, and in the last batch, which is smaller.
TEST(CudaNonFinite, AStepThatWouldSpoilTheWeightsIsLeftOutAsOnTheCpu) {
  const InMemoryDataset data = digits_with(NAN, {1, 22, 25, 39});
  const auto trained = [&](Backend& backend, ComputeDtype compute_dtype, std::vector<std::string>& warnings) {
    Model model = digits_model(backend, compute_dtype);
    const History history =
        model.fit(data, {.batch_size = 6,
                         .epochs = 2,
                         .shuffle = false,
                         .non_finite = {.action = NonFiniteAction::skip},
                         .verbose = 0,
                         .warn = [&](const std::string& line) { warnings.push_back(line); }});
    Values all = model.arena().values().to_vector<double>();
    for (const double value : model.arena().buffers().to_vector<double>()) all.push_back(value);
    for (const char* key : {"loss", "accuracy"})
      for (const double value : history.values.at(key)) all.push_back(value);
    return all;
  };
  for (const ComputeDtype compute_dtype : {ComputeDtype(), ComputeDtype(DType::bf16)}) {
    std::vector<std::string> expected_warnings, warnings;
    const Values expected = trained(backend("cpu"), compute_dtype, expected_warnings);
    FakeDevice device({.seed = 7});
    expect_near(trained(device.backend, compute_dtype, warnings), expected, compute_dtype ? 0x1p-7 : 1e-5);
    EXPECT_GE(device.runtime.replays(), 6);
    EXPECT_EQ(warnings, expected_warnings);
    EXPECT_EQ(warnings.size(), 8u);
  }
}

// Groups of two batches, of which the third of an epoch is one batch and so a graph of its own; pieces;
// shards.
TEST(CudaNonFinite, UpdatesOfSeveralPassesAreLeftOutAsOnTheCpu) {
  const InMemoryDataset data = digits_with(NAN, {9, 39});
  const std::vector<FitOptions> ways{{.epochs = 4, .backward_passes_per_step = 2},
                                     {.epochs = 2, .micro_batch = 3},
                                     {.epochs = 2, .deterministic = true, .virtual_shards = 4}};
  for (const FitOptions& way : ways) {
    SCOPED_TRACE(&way - ways.data());
    const auto trained = [&](Backend& backend, std::vector<std::string>& warnings) {
      Model model = digits_model(backend, {});
      FitOptions fit = way;
      fit.batch_size = 8;
      fit.shuffle = false;
      fit.non_finite = {.action = NonFiniteAction::skip};
      fit.verbose = 0;
      fit.warn = [&](const std::string& line) { warnings.push_back(line); };
      const History history = model.fit(data, fit);
      Values all = history.values.at("loss");
      for (const double value : history.values.at("accuracy")) all.push_back(value);
      for (const double value : model.arena().values().to_vector<double>()) all.push_back(value);
      for (const double value : model.arena().buffers().to_vector<double>()) all.push_back(value);
      return all;
    };
    std::vector<std::string> expected_warnings, warnings;
    const Values expected = trained(backend("cpu"), expected_warnings);
    FakeDevice device({.seed = 7});
    expect_near(trained(device.backend, warnings), expected, 1e-4);
    EXPECT_EQ(warnings, expected_warnings);
    EXPECT_EQ(warnings.size(), static_cast<std::size_t>(2 * way.epochs));
  }
}

/// The end of a training that has to abort for a sample that is no number.
struct Abort {
  std::string text;
  std::int64_t iterations = 0, steps = 0;
  Values weights;
};

struct SaveEachStep : Callback {
  explicit SaveEachStep(std::string file) : path(std::move(file)) {}
  void on_save_point(SavePoint& point) override {
    if (!point.ends_epoch()) point.save({.path = path});
  }
  std::string path;
};

Abort aborted(Backend& backend, const InMemoryDataset& data, FitOptions options, bool normalizes) {
  Model model(normalizes ? digits_net()
                         : std::make_unique<Sequential>(
                               Flatten(), Dense({.units = 4, .activation = Activation::softmax})),
              {8, 8, 1}, {.seed = 3, .backend = &backend});
  model.compile({.optimizer = digits_optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
  options.shuffle = false;
  options.verbose = 0;
  options.non_finite = {.action = NonFiniteAction::abort};
  Abort result;
  try {
    model.fit(data, options);
  } catch (const Error& error) {
    result.text = error.what();
    EXPECT_EQ(error.status(), ExitStatus::non_finite);
  }
  result.iterations = model.optimizer().iterations();
  result.steps = model.progress().steps;
  result.weights = model.arena().values().to_vector<double>();
  for (const double value : model.arena().buffers().to_vector<double>()) result.weights.push_back(value);
  return result;
}

std::string expect_the_same_end(const InMemoryDataset& data, const FitOptions& options, std::int64_t step,
                                std::int64_t replays, bool normalizes = true) {
  SCOPED_TRACE(cat("step ", step, ", batches of ", options.batch_size));
  const Abort expected = aborted(backend("cpu"), data, options, normalizes);
  FakeDevice device({.seed = 3});
  const Abort got = aborted(device.backend, data, options, normalizes);
  EXPECT_EQ(device.runtime.replays(), replays);
  EXPECT_EQ(got.text, expected.text);
  EXPECT_NE(got.text.find(cat("step ", step, " ")), std::string::npos) << got.text;
  EXPECT_EQ(got.iterations, step - 1);
  EXPECT_EQ(got.steps, expected.steps);
  expect_near(got.weights, expected.weights, 1e-5);
  return got.text;
}

// The device is given a step more before the host asks what became of one: it changes nothing.
TEST(CudaNonFinite, ATrainingThatEndsForItsNumbersEndsAsOnTheCpu) {
  expect_the_same_end(digits_with(NAN, {21}), {.batch_size = 4}, 6, 5);
  expect_the_same_end(digits_with(NAN, {21}), {.batch_size = 4}, 6, 5, false);
  // In front of an audited step, which is no graph and begins when all is known.
  expect_the_same_end(digits_with(NAN, {21}), {.batch_size = 4, .audit_every = 7}, 6, 4);
  // Before and behind the first repetition, in the last step of an epoch, before a smaller one, in that one.
  expect_the_same_end(digits_with(NAN, {5}), {.batch_size = 4}, 2, 1);
  expect_the_same_end(digits_with(NAN, {9}), {.batch_size = 4}, 3, 2);
  expect_the_same_end(digits_with(NAN, {37}), {.batch_size = 4, .epochs = 2}, 10, 8);
  expect_the_same_end(digits_with(NAN, {33}), {.batch_size = 6, .epochs = 2}, 6, 4);
  expect_the_same_end(digits_with(NAN, {38}), {.batch_size = 6, .epochs = 2}, 7, 4);
}

// The loss is finite, but a gradient is not: the sum of three samples is larger than a float.
TEST(CudaNonFinite, GradientsAloneAreSeen) {
  const InMemoryDataset data = digits_with(1.3e38f, {20, 21, 22, 23});
  const std::string text = expect_the_same_end(data, {.batch_size = 4}, 6, 5, false);
  EXPECT_NE(text.find("gradient"), std::string::npos) << text;
}

// Nobody sees the state behind an update that was refused.
TEST(CudaNonFinite, AFileOfAStepIsWrittenOnceItIsKnownToBeGood) {
  const test::TempDir directory(test::memory_directory());
  SaveEachStep saves(directory / "model.h5");
  expect_the_same_end(digits_with(NAN, {21}), {.batch_size = 4, .callbacks = {&saves}}, 6, 4);
  EXPECT_EQ(read_saved_model(saves.path).state->steps, 5);
}

TEST(CudaNonFinite, LogsOfAStepAreGivenOnceItIsKnownToBeGood) {
  std::vector<std::int64_t> ended;
  LambdaCallback watches(
      {.on_train_batch_end = [&](std::int64_t batch, const Logs&) { ended.push_back(batch); },
       .wants_batch_logs = true});
  expect_the_same_end(digits_with(NAN, {21}), {.batch_size = 4, .callbacks = {&watches}}, 6, 4);
  EXPECT_EQ(ended, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));  // on the CPU, on the device
}

/// The losses of steps whose loss holds penalties of the weights.
Values losses_with_penalties(Backend& backend, const InMemoryDataset& data, std::int64_t audit_every) {
  Model model(
      std::make_unique<Sequential>(Flatten(), Dense({.units = 4,
                                                     .activation = Activation::softmax,
                                                     .kernel_regularizer = Regularizer::l1_l2(0.01, 0.02)})),
      {8, 8, 1}, {.seed = 3, .backend = &backend});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05}),
                 .loss = std::make_unique<CategoricalCrossentropy>()});
  return model
      .fit(data, {.batch_size = 4,
                  .epochs = 2,
                  .shuffle = false,
                  .non_finite = {.action = NonFiniteAction::skip},
                  .audit_every = audit_every,
                  .verbose = 0,
                  .warn = [](const std::string&) {}})
      .values.at("loss");
}

// The step 3 is audited, and so no part of the graph, and refused: the step 4 is captured with the same
// weights, whose penalty is known by then.
TEST(CudaNonFinite, PenaltiesAreInTheGraphThatIsCapturedBehindARefusedStep) {
  const InMemoryDataset data = digits_with(NAN, {9});
  FakeDevice device({.seed = 7});
  expect_near(losses_with_penalties(device.backend, data, 3), losses_with_penalties(backend("cpu"), data, 3),
              1e-5);
  EXPECT_EQ(device.runtime.replays(), 12);
}

// The penalty was in a capture that was given up: nobody has computed it.
TEST(CudaNonFinite, PenaltiesAreComputedAgainBehindACaptureThatWasGivenUp) {
  const cuda::CudaBackend* gpu = nullptr;
  FakeDevice device({.seed = 7, .on_launch = [&](const cuda::Call& call) {
                       require(call.op != cuda::Op::sgd_step || !gpu->is_capturing(),
                               "no memory for a launch");
                     }});
  gpu = &device.backend;
  expect_near(losses_with_penalties(device.backend, digits(), 0),
              losses_with_penalties(backend("cpu"), digits(), 0), 1e-5);
  EXPECT_EQ(device.runtime.replays(), 0);
}

}  // namespace
}  // namespace ronde::test
