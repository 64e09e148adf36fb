// A whole training on the fake device: the weights are the oracle's but for rounding.
#include <ronde/models/callback.h>
#include <ronde/models/mnist_cnn.h>
#include <ronde/models/swap_ema_weights.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/sgd.h>

#include "cuda/digits.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

struct TrainingOutcome {
  std::vector<double> weights, resumed;
  Evaluation evaluation;
  std::vector<double> predictions;
};

// The last batch of each epoch is smaller; a file is written on the way and trained on from.
TrainingOutcome train(Backend& backend, ComputeDtype compute_dtype = {}, bool weighs = false) {
  const InMemoryDataset data = digits();
  const test::TempDir directory(test::memory_directory());
  const std::string file = directory / "model.h5";
  Model model = digits_model(backend, compute_dtype);
  FitOptions options{
      .batch_size = 16, .epochs = 2, .check_replicas_every = 2, .validation = &data, .verbose = 0};
  if (weighs) {
    options.class_weight = {1.0, 0.5, 2.0, 0.0};
    for (int i = 0; i < 40; ++i) options.sample_weight.push_back(0.125 * (i % 11));
    options.validation_sample_weight = options.sample_weight;
  }
  model.fit(data, options);
  model.save(file);
  TrainingOutcome outcome;
  outcome.weights = model.arena().values().to_vector<double>();
  outcome.evaluation = model.evaluate(data, 10);
  outcome.predictions = model.predict(Tensor::full({3, 8, 8, 1}, 0.5)).to_vector<double>();
  Model again = digits_model(backend, compute_dtype);
  again.load_weights(file);
  options.epochs = 3;
  options.resume = true;
  again.fit(data, options);
  outcome.resumed = again.arena().values().to_vector<double>();
  return outcome;
}

void expect_weights_of_the_oracle(ComputeDtype compute_dtype, bool weighs = false) {
  const TrainingOutcome expected = train(backend("cpu"), compute_dtype, weighs);
  FakeDevice device({.seed = 7});
  const TrainingOutcome got = train(device.backend, compute_dtype, weighs);
  // Of 2 + 1 epochs with 2 whole batches of 16 each: all but the first two of each fit, and 2 small ones.
  EXPECT_GE(device.runtime.replays(), 2);
  const double tolerance = compute_dtype ? 0x1p-8 : 1e-5;
  expect_near(got.weights, expected.weights, tolerance);
  expect_near(got.resumed, expected.resumed, tolerance);
  expect_near(got.predictions, expected.predictions, tolerance);
  EXPECT_NEAR(got.evaluation.loss_sum, expected.evaluation.loss_sum, 40 * tolerance);
  EXPECT_EQ(got.evaluation.correct, expected.evaluation.correct);
}

TEST(CudaTraining, GivesTheWeightsOfTheOracle) {
  expect_weights_of_the_oracle({});
}

TEST(CudaTraining, InMixedPrecisionToo) {
  expect_weights_of_the_oracle(DType::bf16);
}

TEST(CudaTraining, WithWeightsOfClassesAndSamplesToo) {
  expect_weights_of_the_oracle({}, true);
  EXPECT_NE(train(backend("cpu"), {}, true).weights, train(backend("cpu")).weights);
}

/// What is shown of a training with weights; the accuracy that sees them is counted there, precision here.
History shown_with_weights(Backend& backend, ComputeDtype compute_dtype = {}) {
  Model model(digits_net(), {8, 8, 1}, {.seed = 3, .backend = &backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = std::make_unique<Adadelta>(),
                 .loss = std::make_unique<SparseCategoricalCrossentropy>(),
                 .metrics = {make_metric("accuracy")},
                 .weighted_metrics = {make_metric("accuracy"), make_metric("sparse_categorical_crossentropy"),
                                      make_metric("sparse_top_k_categorical_accuracy")}});
  const InMemoryDataset data = digits();
  FitOptions options{.batch_size = 10, .epochs = 3, .validation = &data, .verbose = 0};
  options.class_weight = {1.0, 0.5, 2.0, 0.0};
  for (int i = 0; i < 40; ++i) options.sample_weight.push_back(0.125 * (i % 11));
  options.validation_sample_weight = options.sample_weight;
  return model.fit(data, options);
}

TEST(CudaTraining, MetricsSeeWeightsBehindTheGraphOfAStep) {
  const History expected = shown_with_weights(backend("cpu"));
  FakeDevice device({.seed = 7});
  const History got = shown_with_weights(device.backend);
  EXPECT_GE(device.runtime.replays(), 8);  // of 12 steps, all but those that capture
  ASSERT_EQ(got.values.size(), 10u);
  for (const auto& [name, values] : expected.values) {
    SCOPED_TRACE(name);
    expect_near(got.values.at(name), values, 1e-5);
  }
  EXPECT_NE(got.values.at("accuracy"), got.values.at("weighted_accuracy"));
}

TEST(CudaTraining, MetricsSeeWeightsInMixedPrecisionToo) {
  FakeDevice device({.seed = 7});
  const History got = shown_with_weights(device.backend, DType::bf16);
  const std::string loss = "sparse_categorical_crossentropy";
  const History expected = shown_with_weights(backend("cpu"), DType::bf16);
  expect_near(got.values.at(loss), expected.values.at(loss), 0x1p-6);
}

// Its logits are not known, so that the loss is made of one-hot rows, by the host.
TEST(CudaTraining, ALabelThatIsNoClassOfProbabilitiesIsAnError) {
  FakeDevice device;
  const Tensor probabilities = Tensor::full({2, 3}, 1.0 / 3, {.backend = &device.backend});
  for (const std::int32_t label : {3, -1, 1 << 30}) {
    const Tensor labels = Tensor::from<std::int32_t>({2}, {1, label}, &device.backend);
    expect_error([&] { CategoricalCrossentropy()(probabilities, labels); },
                 cat("label ", label, " of row 1 is not in [0, 3)"));
  }
}

TEST(CudaTraining, AnEvaluationWaitsOnceForAllOfItsBatches) {
  FakeDevice device;
  Model model = digits_model(device.backend, {});
  const auto reads_of = [&](std::int64_t batch_size) {
    const std::int64_t before = device.runtime.reads();
    model.evaluate(digits(), batch_size);
    return device.runtime.reads() - before;
  };
  reads_of(20);
  const std::int64_t of_many = reads_of(4);
  EXPECT_EQ(of_many, reads_of(20));
}

TEST(CudaTraining, DeterministicModeHasDeterministicEngines) {
  FakeDevice device;
  Model model = digits_model(device.backend, {});
  model.fit(digits(), {.batch_size = 16, .epochs = 1, .verbose = 0});
  EXPECT_EQ(device.runtime.math().engines, cuda::Engines::tuned);
  model.fit(digits(), {.batch_size = 16, .epochs = 2, .deterministic = true, .verbose = 0});
  EXPECT_EQ(device.runtime.math().engines, cuda::Engines::deterministic);
}

// Else sums that vary would be taken for a machine that fails.
TEST(CudaTraining, AnAuditedTrainingHasEnginesThatRepeatTheirBits) {
  using cuda::Engines;
  const auto engines = [](Engines wished, std::int64_t audit_every) {
    FakeDevice device({}, {.math = {.engines = wished}});
    Model model = digits_model(device.backend, {});
    model.fit(digits(), {.batch_size = 16, .max_steps = 1, .audit_every = audit_every, .verbose = 0});
    return device.runtime.math().engines;
  };
  EXPECT_EQ(engines(Engines::fastest, 0), Engines::fastest);
  EXPECT_EQ(engines(Engines::fastest, 100), Engines::tuned);
  EXPECT_EQ(engines(Engines::deterministic, 100), Engines::deterministic);
}

/// To the device, in so many epochs.
std::size_t bytes_of_training(std::int64_t epochs) {
  const InMemoryDataset data = digits();
  FakeDevice device;
  digits_model(device.backend, {})
      .fit(data, {.batch_size = 16, .epochs = epochs, .validation = &data, .verbose = 0});
  return device.runtime.bytes_to_device();
}

TEST(CudaTraining, DataOfAValidationStayOnTheDevice) {
  const std::size_t of_an_epoch = bytes_of_training(3) - bytes_of_training(2);
  EXPECT_LT(of_an_epoch, digits().inputs().byte_size() / 2);
}

TEST(CudaTraining, SaysWhatALibraryRefuses) {
  FakeDevice device({.plans_bfloat16 = false});
  Model model = digits_model(device.backend, DType::bf16);
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& line) { warnings.push_back(line); };
  model.fit(digits(), {.batch_size = 8, .epochs = 1, .verbose = 0, .warn = warn});
  model.fit(digits(), {.batch_size = 8, .epochs = 2, .verbose = 0, .warn = warn});
  std::sort(warnings.begin(), warnings.end());
  ASSERT_EQ(warnings.size(), 5u);  // each operation once
  EXPECT_NE(warnings[0].find("conv2d of bfloat16 goes by float32 copies, refused by a library: there is no "
                             "engine for bf16 (conv2d (1, 6, 6, 4) bf16 <- "),
            std::string::npos)
      << warnings[0];
  EXPECT_EQ(warnings[1].find("conv2d_backward_weight of"), 0u);
  EXPECT_EQ(warnings[2].find("dense of"), 0u);
  EXPECT_EQ(warnings[3].find("dense_backward_weight of"), 0u);
  EXPECT_EQ(warnings[4].find("matmul of"), 0u);
}

TEST(CudaTraining, InMixedPrecisionAGraphIsWhatItsKernelsAre) {
  const auto weights = [](bool graphs) {
    FakeDevice device({.seed = 11}, {.graphs = graphs});
    Model model = digits_model(device.backend, DType::bf16);
    model.fit(digits(), {.batch_size = 8, .epochs = 2, .verbose = 0});
    EXPECT_EQ(device.runtime.replays() > 0, graphs);
    return model.weights_sha256();
  };
  EXPECT_EQ(weights(true), weights(false));
}

/// Changes weights between the steps, which are a graph by then.
struct Meddler : Callback {
  void on_train_batch_end(std::int64_t batch, const Logs&) override {
    const Tensor& values = model().arena().values();
    if (batch == 3) values.copy_from(Tensor::full(values.shape(), 0.02, {.backend = &backend("cpu")}));
    if (batch == 5) values.backend().unary(UnaryOp::affine, values, values, {.alpha = 0.5, .beta = 0.0});
  }
};

TEST(CudaTraining, InMixedPrecisionWeightsMayBeChangedBetweenSteps) {
  const auto weights = [](Backend& backend) {
    Meddler meddler;
    Model model = digits_model(backend, DType::bf16);
    model.fit(digits(), {.batch_size = 5, .epochs = 2, .callbacks = {&meddler}, .verbose = 0});
    return model.arena().values().to_vector<double>();
  };
  FakeDevice device({.seed = 5}), plain({.seed = 5}, {.graphs = false});
  const Values got = weights(device.backend);
  EXPECT_EQ(got, weights(plain.backend));
  expect_near(got, weights(backend("cpu")), 0x1p-7);
  EXPECT_GE(device.runtime.replays(), 10);
}

Model mnist_model(Backend& backend, ComputeDtype compute_dtype,
                  std::unique_ptr<Optimizer> optimizer = std::make_unique<Adadelta>()) {
  Model model(mnist_cnn(), {28, 28, 1}, {.seed = 3, .backend = &backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = std::move(optimizer), .loss = std::make_unique<CategoricalCrossentropy>()});
  return model;
}

// What is rounded or widened is what the model casts: its input, and the logits with their gradient for the
// loss. No kernel is given copies, and weights are rounded by the step before.
TEST(CudaTraining, AMixedStepOfTheMnistNetCastsNothingElse) {
  std::vector<std::int64_t> rounded, widened;
  const auto note = [&](const cuda::Call& call) {
    if (call.op != cuda::Op::copy || call[0].dtype == call[1].dtype) return;
    if (call[0].dtype == DType::bf16) rounded.push_back(call[0].count());
    if (call[1].dtype == DType::bf16) widened.push_back(call[0].count());
  };
  FakeDevice device({.computes = false, .on_launch = note});
  Model model = mnist_model(device.backend, DType::bf16);
  const Tensor inputs = Tensor::zeros({2, 28, 28, 1}), labels = Tensor::zeros({2}, {.dtype = DType::i32});
  model.train_on_batch(inputs, labels);
  rounded.clear();
  widened.clear();
  model.train_on_batch(inputs, labels);
  std::sort(rounded.begin(), rounded.end());
  EXPECT_EQ(rounded, std::vector<std::int64_t>{2 * 28 * 28});
  EXPECT_EQ(widened, std::vector<std::int64_t>{});
}

// A convolution's result is rounded before it is pooled, on the CPU behind it: of maxima that become equal
// the gradient goes another way.
TEST(CudaTraining, AMixedStepOfTheMnistNetIsThatOfTheCpu) {
  const Tensor inputs = random_tensor(backend("cpu"), {4, 28, 28, 1}, DType::f32, 8);
  const Tensor labels = Tensor::from<std::int32_t>({4}, {3, 1, 4, 1}, &backend("cpu"));
  const auto trained = [&](Backend& backend) {
    Model model = mnist_model(backend, DType::bf16, std::make_unique<SGD>());
    const Values before = model.arena().values().to_vector<double>();
    model.train_on_batch(inputs, labels);
    Values change = model.arena().values().to_vector<double>();
    for (std::size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
    return change;
  };
  FakeDevice device;
  const Values expected = trained(backend("cpu")), got = trained(device.backend);
  double squares = 0, of_difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    squares += expected[i] * expected[i];
    of_difference += (got[i] - expected[i]) * (got[i] - expected[i]);
  }
  EXPECT_GT(squares, 0.0);
  EXPECT_LT(std::sqrt(of_difference / squares), 0.02);
}

// A step of a small net takes as long as its kernels need to start: their number is what counts.
TEST(CudaTraining, AStepOfTheMnistNetIsSoManyKernels) {
  FakeDevice device;
  Model model = mnist_model(device.backend, {});
  const Tensor inputs = Tensor::full({1, 28, 28, 1}, 0.5);
  const Tensor labels = Tensor::from<std::int32_t>({1}, {3});
  model.train_on_batch(inputs, labels);
  const std::int64_t before = device.runtime.launches();
  model.train_on_batch(inputs, labels);
  const std::int64_t kernels = device.runtime.launches() - before;
  RecordProperty("kernels", static_cast<int>(kernels));
  EXPECT_LE(kernels, 40);
  EXPECT_GE(kernels, 15);  // fewer than the net has layers: something was not counted
}

// Forward, backward, metrics and update: a step more is a repetition more, and a kernel of the loader.
TEST(CudaTraining, ARepeatedStepIsOneGraph) {
  const auto launches = [](std::int64_t steps, std::unique_ptr<Optimizer> optimizer) {
    FakeDevice device;
    Model model(digits_net(), {8, 8, 1}, {.backend = &device.backend});
    model.compile({.optimizer = std::move(optimizer), .loss = std::make_unique<CategoricalCrossentropy>()});
    model.fit(digits(), {.batch_size = 4, .max_steps = steps, .verbose = 0});
    EXPECT_EQ(device.runtime.replays(), steps - 2);
    return device.runtime.launches();
  };
  EXPECT_EQ(launches(5, std::make_unique<Adadelta>()) + 4, launches(9, std::make_unique<Adadelta>()));
  EXPECT_EQ(launches(5, std::make_unique<Adam>()) + 4, launches(9, std::make_unique<Adam>()));
}

Model penalised_model(Backend& backend, double l2 = 0.0) {
  auto layers = std::make_unique<Sequential>(
      Conv2D({.filters = 4, .activation = Activation::relu, .kernel_regularizer = Regularizer::l2(0.05)}),
      Flatten(),
      Dense({.units = 4,
             .activation = Activation::softmax,
             .kernel_regularizer = Regularizer::l1_l2(0.01, 0.02)}));
  Model model(std::move(layers), {8, 8, 1}, {.seed = 3, .backend = &backend});
  model.compile(
      {.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.9, .l2 = l2}),
       .loss = std::make_unique<CategoricalCrossentropy>()});
  return model;
}

// SGD's l2 is as a regularizer of all weights, but no part of the loss. The last batch of an epoch is
// smaller.
TEST(CudaTraining, WithRegularizersAndL2Too) {
  const InMemoryDataset data = digits();
  const FitOptions options{.batch_size = 16, .epochs = 4, .validation = &data, .verbose = 0};
  for (const double l2 : {0.0, 0.05}) {
    Model expected = penalised_model(backend("cpu"), l2);
    const History oracle = expected.fit(data, options);
    FakeDevice device({.seed = 7});
    Model got = penalised_model(device.backend, l2);
    const History history = got.fit(data, options);
    EXPECT_GE(device.runtime.replays(), 4);
    for (const char* key : {"loss", "val_loss"})
      expect_near(history.values.at(key), oracle.values.at(key), 1e-5);
    expect_near(got.arena().values().to_vector<double>(), expected.arena().values().to_vector<double>(),
                1e-5);
  }
}

// Of 5 batches the last is an update of its own, and so a whole step; the first of each group is a pass.
TEST(CudaTraining, OneGraphForPassesAndOneForStepsHaveLossesOfTheirOwn) {
  const auto trained = [](Backend& backend) {
    const History history =
        digits_model(backend, {})
            .fit(digits(), {.batch_size = 8, .epochs = 4, .backward_passes_per_step = 2, .verbose = 0});
    Values all = history.values.at("loss");
    for (const double value : history.values.at("accuracy")) all.push_back(value);
    return all;
  };
  FakeDevice device({.seed = 7});
  expect_near(trained(device.backend), trained(backend("cpu")), 1e-4);
  EXPECT_EQ(device.runtime.replays(), 6 + 2);
}

// Penalties and their gradients read nothing on the host.
TEST(CudaTraining, ARepeatedStepWithRegularizersIsOneGraph) {
  const auto launches = [](std::int64_t steps, double l2) {
    FakeDevice device;
    Model model = penalised_model(device.backend, l2);
    model.fit(digits(), {.batch_size = 4, .max_steps = steps, .verbose = 0});
    EXPECT_EQ(device.runtime.replays(), steps - 2);
    return device.runtime.launches();
  };
  for (const double l2 : {0.0, 0.05}) EXPECT_EQ(launches(5, l2) + 4, launches(9, l2)) << l2;
}

Model averaging_model(Backend& backend, std::int64_t overwrite_frequency) {
  Model model(digits_net(), {8, 8, 1}, {.seed = 3, .backend = &backend});
  auto adam = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.02});
  adam->set_moving_average({.momentum = 0.75, .overwrite_frequency = overwrite_frequency});
  model.compile({.optimizer = std::move(adam), .loss = std::make_unique<CategoricalCrossentropy>()});
  return model;
}

// Where averages overwrite weights at times, a step is not always the same kernels: the update follows the
// graph.
TEST(CudaTraining, WithMovingAveragesToo) {
  const InMemoryDataset data = digits();
  for (const std::int64_t frequency : {0, 3}) {
    const auto trained = [&](Backend& backend) {
      Model model = averaging_model(backend, frequency);
      SwapEMAWeights swap;
      const History history = model.fit(
          data, {.batch_size = 8, .epochs = 2, .validation = &data, .callbacks = {&swap}, .verbose = 0});
      Values all = model.arena().values().to_vector<double>();
      for (const OptimizerSlot& slot : model.optimizer().slots())
        for (const double value : slot.values.to_vector<double>()) all.push_back(value);
      for (const double value : history.values.at("val_loss")) all.push_back(value);
      return all;
    };
    FakeDevice device({.seed = 7});
    expect_near(trained(device.backend), trained(backend("cpu")), 1e-4);
    EXPECT_EQ(device.runtime.replays(), 8) << frequency;
  }
}

TEST(CudaTraining, ARepeatedStepWithAMovingAverageIsOneGraph) {
  const auto launches = [](std::int64_t steps) {
    FakeDevice device;
    Model model = averaging_model(device.backend, 0);
    model.fit(digits(), {.batch_size = 4, .max_steps = steps, .verbose = 0});
    return device.runtime.launches();
  };
  EXPECT_EQ(launches(5) + 4, launches(9));
}

// It is counted by the host, behind a graph that is forward and backward.
TEST(CudaTraining, AccuracyOfOneClassKeepsNoPassFromBeingAGraph) {
  FakeDevice device;
  Model model(std::make_unique<Sequential>(Flatten(), Dense({.units = 1, .activation = Activation::sigmoid})),
              {8, 8, 1}, {.backend = &device.backend});
  model.compile({.optimizer = std::make_unique<SGD>(),
                 .loss = std::make_unique<BinaryCrossentropy>(),
                 .metrics = {std::make_shared<Accuracy>()}});
  const InMemoryDataset data(digits().inputs(), Tensor::zeros({40, 1}));
  std::vector<std::string> warnings;
  model.fit(data, {.batch_size = 4, .verbose = 0, .warn = [&](const std::string& line) {
                     warnings.push_back(line);
                   }});
  EXPECT_EQ(device.runtime.replays(), 8);
  EXPECT_TRUE(warnings.empty());
}

// A graph's memory is its own until the end of its training.
TEST(CudaTraining, ManyTrainingsTakeNoMoreMemoryThanOne) {
  const InMemoryDataset data = digits();
  FakeDevice device;
  Model model = digits_model(device.backend, {});
  const auto held_behind = [&](int trainings) {
    for (int i = 0; i < trainings; ++i)
      model.fit(data, {.batch_size = 4, .epochs = 1, .validation = &data, .verbose = 0});
    return device.runtime.memory_in_use();
  };
  const std::size_t held = held_behind(2);
  EXPECT_EQ(held_behind(5), held);
}

TEST(CudaTraining, WhatFailsOnTheDeviceEndsIt) {
  FakeDevice device({.failing_launch = 200});
  expect_error([&] { train(device.backend); }, "an illegal memory access was encountered");
}

}  // namespace
}  // namespace ronde::test
