#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>
#include <utility>

#include <ronde/core/ops.h>
#include <ronde/models/adapt_normalization.h>
#include <ronde/models/cifar10_cnn.h>
#include <ronde/models/cifar10_fast.h>
#include <ronde/models/early_stopping.h>
#include <ronde/models/mnist_cnn.h>
#include <ronde/models/named_weights.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/loss_metric.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/softmax.h>
#include <ronde/nn/top_k_accuracy.h>

#include "models/testing.h"

namespace ronde::test {
namespace {

// Of bytes around 200, in more than one batch; their variance by its definition.
TEST(Normalization, AdaptsToAllOfADataSet) {
  constexpr std::int64_t kSamples = 75, kPixels = 4, kChannels = 2;
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < kSamples * kPixels * kChannels; ++i)
    bytes.push_back(static_cast<std::uint8_t>(200 + (i * i + 3 * (i % kChannels)) % 7));
  const InMemoryDataset data(Tensor::from<std::uint8_t>({kSamples, 2, 2, kChannels}, bytes),
                             Tensor::zeros({kSamples}, {.dtype = DType::i32}), {.scale = 0.5, .offset = 1.0});
  const NormalizationOptions found = adapt_normalization(data);
  ASSERT_EQ(found.mean.size(), 2u);
  ASSERT_EQ(found.variance.size(), 2u);
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    const auto average = [&](auto&& value) {
      double sum = 0.0;
      for (std::size_t i = channel; i < bytes.size(); i += kChannels) sum += value(bytes[i] * 0.5 + 1.0);
      return sum / (kSamples * kPixels);
    };
    const double mean = average([](double x) { return x; });
    EXPECT_NEAR(found.mean[channel], mean, 1e-10);
    EXPECT_NEAR(found.variance[channel], average([&](double x) { return (x - mean) * (x - mean); }), 1e-10);
  }
  const NormalizationOptions all = adapt_normalization(data, std::nullopt);
  EXPECT_EQ(all.axis, std::nullopt);
  ASSERT_EQ(all.mean.size(), 1u);
  const double mean = (found.mean[0] + found.mean[1]) / 2, apart = (found.mean[0] - found.mean[1]) / 2;
  EXPECT_NEAR(all.mean[0], mean, 1e-10);
  EXPECT_NEAR(all.variance[0], (found.variance[0] + found.variance[1]) / 2 + apart * apart, 1e-10);
  EXPECT_THROW(adapt_normalization(data, 1), UsageError);
  EXPECT_EQ(adapt_normalization(data, 3).mean, found.mean) << "its number, in a batch";
  EXPECT_THROW(adapt_normalization(InMemoryDataset(Tensor::zeros({0, 2}), Tensor::zeros({0}))), UsageError);
}

/// Pictures (32, 32, 3) that differ.
InMemoryDataset bright_pictures(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count) * 32 * 32 * 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.5f + 0.5f * std::sin(static_cast<float>(i * i % 1013));
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i % 10));
  return {Tensor::from<float>({count, 32, 32, 3}, values), Tensor::from<std::int32_t>({count}, labels)};
}

TEST(Metrics, OfOneNameAreAllShown) {
  Model model = small_model();
  CompileOptions options = small_compile();
  for (const int k : {3, 2, 1})
    options.metrics.push_back(
        std::make_shared<SparseTopKCategoricalAccuracy>(TopKOptions{.k = k, .name = "top"}));
  model.compile(std::move(options));
  const Logs logs = model.evaluate(small_images(30)).logs;
  ASSERT_EQ(logs.entries().size(), 4u);
  EXPECT_EQ(logs.at("top"), 1.0);
  EXPECT_GT(logs.at("top"), logs.at("top_1"));
  EXPECT_GT(logs.at("top_1"), logs.at("top_2"));
  const InMemoryDataset data = small_images(8);
  EarlyStopping stop({.monitor = "val_top_2", .patience = 3});
  const History history = model.fit(data, {.validation = &data, .callbacks = {&stop}, .verbose = 0});
  EXPECT_EQ(history.values.count("val_top_2"), 1u);
}

TEST(Metrics, GetNumbersThatNobodyElseHas) {
  Model model = small_model();
  CompileOptions options = small_compile();
  for (const char* name : {"a", "a_1", "a"}) options.metrics.push_back(std::make_shared<Accuracy>(name));
  model.compile(std::move(options));
  std::string names;
  for (const auto& [name, value] : model.evaluate(small_images(3)).logs.entries()) names += name + " ";
  EXPECT_EQ(names, "loss a a_1 a_2 ");
}

TEST(Metrics, NoneIsCalledLoss) {
  Model model = small_model();
  CompileOptions options = small_compile();
  options.metrics = {std::make_shared<Accuracy>("loss")};
  EXPECT_EQ(message_of<UsageError>([&] { model.compile(std::move(options)); }),
            "[compile] a metric must not be called loss, as the loss is");
}

// One that keeps what it has seen, and so gives a sum more with each batch.
class GrowingMetric : public Metric {
 public:
  std::string name() const override { return "growing"; }
  void update(const Tensor&, const Tensor&) override { ++batches_; }
  MetricSums sums() const override { return MetricSums(batches_, 1.0); }
  void reset() override { batches_ = 0; }

 private:
  std::size_t batches_ = 0;
};

TEST(Metrics, OneWithMoreSumsThanItHadIsNamed) {
  Model model = small_model();
  CompileOptions options = small_compile();
  options.metrics = {std::make_shared<Accuracy>(), std::make_shared<GrowingMetric>()};
  model.compile(std::move(options));
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(small_images(3), {.verbose = 0}); }),
            "[metrics] growing gives 1 sums, and before its first batch gave 0: it has to be as many always");
}

TEST(Zoo, HasTheParametersOfTheTutorials) {
  for (const MnistCnn variant : {MnistCnn::keras, MnistCnn::tf2}) {
    const auto net = mnist_cnn(variant);
    net->build({28, 28, 1});
    EXPECT_EQ(net->parameter_count(), 1199882);
    EXPECT_EQ(net->output_shape(), (Shape{1, 10}));
  }
  const auto estimator = mnist_cnn(MnistCnn::estimator);
  estimator->build({28, 28, 1});
  EXPECT_EQ(estimator->parameter_count(), 320 + 18496 + 1600 * 128 + 128 + 1290);
  const auto cifar = cifar10_cnn();
  cifar->build({32, 32, 3});
  EXPECT_EQ(cifar->parameter_count(), 1250858);
}

TEST(Zoo, FastCifarNetBeginsWhitenedAndTrains) {
  const InMemoryDataset pictures = bright_pictures(8);
  Model model(cifar10_fast(), {32, 32, 3}, {});
  prepare_cifar10_fast(model.module(), pictures);
  constexpr std::int64_t kKernels = 9 * (24 * 64 + 64 * 64 + 64 * 256 + 256 * 256 + 2 * 256 * 256);
  EXPECT_EQ(model.module().parameter_count(true), 24 + kKernels + 576 + 2560 + 576);
  model.compile(
      {.optimizer = cifar10_fast_optimizer({.total_steps = 4, .steps_per_epoch = 1}),
       .loss = std::make_unique<CategoricalCrossentropy>(CrossentropyOptions{.label_smoothing = 0.2})});
  const auto weight = [&](const std::string& name) {
    for (const Parameter& parameter : model.module().parameters())
      if (parameter.name == name) return parameter.variable.value().to_vector<float>();
    return std::vector<float>();
  };
  const auto kernel = weight("whiten/kernel"), bias = weight("whiten/bias"), head = weight("dense/kernel");
  for (std::size_t i = 0; i < kernel.size() / 2; ++i) ASSERT_EQ(kernel[i], -kernel[i + kernel.size() / 2]);
  model.fit(pictures, {.batch_size = 8, .epochs = 1, .verbose = 0});
  EXPECT_EQ(weight("whiten/kernel"), kernel);
  EXPECT_NE(weight("whiten/bias"), bias);
  EXPECT_NE(weight("dense/kernel"), head);
}

TEST(Zoo, FastCifarNetSparesGradientsOfRateZero) {
  const InMemoryDataset pictures = bright_pictures(2);
  const auto train = [&](std::vector<Callback*> callbacks) {
    Model model(cifar10_fast(), {32, 32, 3}, {});
    prepare_cifar10_fast(model.module(), pictures);
    model.compile({.optimizer = cifar10_fast_optimizer({.total_steps = 4, .steps_per_epoch = 1}),
                   .loss = std::make_unique<CategoricalCrossentropy>()});
    model.fit(pictures, {.batch_size = 2, .epochs = 4, .callbacks = std::move(callbacks), .verbose = 0});
    std::int64_t trained = model.module().parameter_count(true);
    return std::pair(model.weights_sha256(), trained);
  };
  Cifar10FastFreeze freeze;
  const auto [with, few] = train({&freeze});
  const auto [without, all] = train({});
  EXPECT_EQ(with, without);
  EXPECT_EQ(few, all - 24);
}

// By hand, from the outputs for the pictures and for their mirror images.
TEST(Model, AveragesViewsBeforeTheSoftmax) {
  Model model = small_model({.dtype = DType::f64});
  const InMemoryDataset data = small_images(5);
  const Tensor images = data.inputs().to(DType::f64);
  const Tensor mirrored = view_images(images, mirror_views()[1]);
  const auto plain = model.predict(images).to_vector<double>();
  const auto mirror = model.predict(mirrored).to_vector<double>();
  const auto both = model.predict(images, {.batch_size = 3, .views = mirror_views()}).to_vector<double>();
  for (std::size_t row = 0; row < both.size(); row += 3) {
    double sum = 0.0;
    for (std::size_t k = row; k < row + 3; ++k) sum += std::sqrt(plain[k] * mirror[k]);
    for (std::size_t k = row; k < row + 3; ++k)
      EXPECT_NEAR(both[k], std::sqrt(plain[k] * mirror[k]) / sum, 1e-12);
  }
  EXPECT_NE(both, plain);
}

TEST(Summary, CountsAndCutsCharacters) {
  const Model model(std::make_unique<Sequential>(
                        Dense({.units = 2,
                               .name = "schicht_\u00e4\u00f6\u00fc_\u65e5\u672c\u8a9e_\u00e4\u00f6\u00fc_"
                                       "\u65e5\u672c\u8a9e_\u65e5\u672c\u8a9e"})),
                    {3});
  const std::string text = model.summary();
  EXPECT_NE(text.find(cat(" schicht_\u00e4\u00f6\u00fc_\u65e5\u672c\u8a9e_\u00e4\u00f6\u00fc_"
                          "\u65e5\u672c\u8a9e_\u65e5\u672c  (None, 2)",
                          std::string(17, ' '), "8", std::string(9, ' '), "\n", " \u8a9e (Dense)",
                          std::string(55, ' '), "\n")),
            std::string::npos)
      << text;
}

// Keras 2.15's text for this net.
TEST(Summary, IsKerasTable) {
  const Model model(std::make_unique<Sequential>(Conv2D({.filters = 32, .activation = Activation::relu}),
                                                 Conv2D({.filters = 64, .activation = Activation::relu}),
                                                 MaxPooling2D(), Dropout(0.25), BatchNormalization(),
                                                 GlobalAveragePooling2D(), Dense({.units = 10})),
                    {28, 28, 1});
  EXPECT_EQ(model.summary(),
            "Model: \"sequential\"\n"
            "_________________________________________________________________\n"
            " Layer (type)                Output Shape              Param #   \n"
            "=================================================================\n"
            " conv2d (Conv2D)             (None, 26, 26, 32)        320       \n"
            "                                                                 \n"
            " conv2d_1 (Conv2D)           (None, 24, 24, 64)        18496     \n"
            "                                                                 \n"
            " max_pooling2d (MaxPooling2  (None, 12, 12, 64)        0         \n"
            " D)                                                              \n"
            "                                                                 \n"
            " dropout (Dropout)           (None, 12, 12, 64)        0         \n"
            "                                                                 \n"
            " batch_normalization (Batch  (None, 12, 12, 64)        256       \n"
            " Normalization)                                                  \n"
            "                                                                 \n"
            " global_average_pooling2d (  (None, 64)                0         \n"
            " GlobalAveragePooling2D)                                         \n"
            "                                                                 \n"
            " dense (Dense)               (None, 10)                650       \n"
            "                                                                 \n"
            "=================================================================\n"
            "Total params: 19722 (77.04 KB)\n"
            "Trainable params: 19594 (76.54 KB)\n"
            "Non-trainable params: 128 (512.00 Byte)\n"
            "_________________________________________________________________\n");
}

// Computed with Python: hashlib over sorted names, NUL, and the bytes that h5py reads from the file.
TEST(WeightsSha256, IsOverKerasLayoutInNameOrder) {
  EXPECT_EQ(Model::load(golden("batchnorm_net_keras2.15.0.h5")).weights_sha256(),
            "0bd95388f6d1504f79833476753ecab84bf7f5b98add342dfc379f8a8826493b");
  EXPECT_EQ(Model::load(golden("mnist_cnn_keras2.15.0.h5")).weights_sha256(),
            "6ba014079591e62db8aa503c87c1a4a4ee8ee4c2bb02059a0674a3de13c125d5");
}

TEST(Model, TrainOnBatchSaysWhatDoesNotFit) {
  Model model = small_model();
  const std::string before = model.weights_sha256();
  const auto refusal = [&](const Tensor& inputs, const Tensor& targets, const Tensor& keys = {}) {
    return message_of<UsageError>([&] { model.train_on_batch(inputs, targets, {.sample_keys = keys}); });
  };
  const Tensor images = Tensor::zeros({4, 6, 6, 1}), labels = Tensor::zeros({4}, {.dtype = DType::i32});
  EXPECT_EQ(refusal(Tensor::zeros({4, 6, 5, 1}), labels),
            "[train_on_batch] the net takes inputs of shape (6, 6, 1), got f32 (4, 6, 5, 1) with the batch");
  EXPECT_EQ(
      refusal(images, Tensor::zeros({5}, {.dtype = DType::i32})),
      "[train_on_batch] inputs f32 (4, 6, 6, 1) and targets i32 (5,) must have the same number of samples");
  EXPECT_EQ(
      refusal(images, {}),
      "[train_on_batch] inputs f32 (4, 6, 6, 1) and targets undefined must have the same number of samples");
  EXPECT_EQ(refusal({}, labels),
            "[train_on_batch] the net takes inputs of shape (6, 6, 1), got undefined with the batch");
  EXPECT_EQ(refusal(images, labels, Tensor::zeros({3, 2}, {.dtype = DType::i64})),
            "[train_on_batch] sample_keys must be i64 (4, 2), got i64 (3, 2)");
  EXPECT_EQ(model.weights_sha256(), before);
  EXPECT_EQ(refusal(images, labels), "no error");
  EXPECT_NE(model.weights_sha256(), before);
}

// One value for each sample is wanted; others would sum to a rate that nobody asked for.
TEST(Model, RefusesALossOfAnotherShape) {
  struct OfShape : Loss {
    ReduceOptions reduced;
    explicit OfShape(ReduceOptions options) : reduced(options) {}
    std::string name() const override { return "mine"; }
    Variable operator()(const Variable& output, const Tensor&) const override {
      return mean(square(output), reduced);
    }
  };
  const InMemoryDataset data = small_images(5);
  const auto refusal = [&](ReduceOptions reduced) {
    Model model(small_net(), {6, 6, 1});
    model.compile({.optimizer = std::make_unique<SGD>(), .loss = std::make_unique<OfShape>(reduced)});
    const std::string of_fit = message_of<UsageError>([&] { model.fit(data, {.verbose = 0}); });
    EXPECT_EQ(message_of<UsageError>([&] { model.evaluate(data); }), of_fit);
    EXPECT_EQ(message_of<UsageError>([&] {
                LossMetric(std::make_unique<OfShape>(reduced))
                    .update(Tensor::zeros({5, 3}), Tensor::zeros({5}, {.dtype = DType::i32}));
              }),
              of_fit);
    return of_fit;
  };
  EXPECT_EQ(refusal({}), "[mine] a loss gives one value for each sample, (5,), got ()");
  EXPECT_EQ(refusal({.axes = {1}, .keep_dims = true}),
            "[mine] a loss gives one value for each sample, (5,), got (5, 1)");
  EXPECT_EQ(refusal({.axes = {1}}), "no error");
}

TEST(Model, SaysWhichMetricIsNull) {
  Model model(small_net(), {6, 6, 1});
  EXPECT_EQ(message_of<UsageError>([&] {
              model.compile({.optimizer = std::make_unique<SGD>(),
                             .loss = std::make_unique<MeanSquaredError>(),
                             .metrics = {std::make_shared<Accuracy>(), nullptr}});
            }),
            "[compile] metrics: number 2 of 2 is null");
  EXPECT_FALSE(model.is_compiled());
}

TEST(Model, NeedsNoWeightsButToTrain) {
  Model model(std::make_unique<Sequential>(Flatten(), Softmax()), {1, 1, 2}, {});
  const Tensor zeros = Tensor::zeros({3, 1, 1, 2});
  EXPECT_EQ(model.predict(zeros).to_vector<float>(), std::vector<float>(6, 0.5f));
  model.compile({.optimizer = std::make_unique<SGD>(), .loss = std::make_unique<CategoricalCrossentropy>()});
  const InMemoryDataset data(zeros, Tensor::zeros({3}, {.dtype = DType::i32}));
  EXPECT_NEAR(model.evaluate(data).loss_sum, 3 * std::log(2.0), 1e-6);
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, {.verbose = 0}); }),
            "[fit] the net has no weights to train");
}

// Keras' way to train two nets against each other.
TEST(Model, OfANetThatAnotherOneHasTakenIsCompiledAgain) {
  const Tensor x = Tensor::full({4, 2}, 1.0), y = Tensor::full({4, 1}, 1.0);
  const auto compile = [](Model& model) {
    model.compile({.optimizer = std::make_unique<SGD>(), .loss = make_loss("mse")});
  };
  Sequential judge(Dense({.units = 1}));
  Model judging(judge, {2});
  compile(judging);
  judge.set_trainable(false);
  Graph both;
  both.output(both.add(judge, both.add(Dense({.units = 2}), both.input())));
  Model misleading(both, {2});
  compile(misleading);
  judge.set_trainable(true);
  EXPECT_THROW(judging.train_on_batch(x, y), UsageError);
  compile(judging);
  for (Model* model : {&judging, &misleading, &judging, &misleading}) {
    const double before = model->train_on_batch(x, y);
    EXPECT_LT(model->train_on_batch(x, y), before);
  }
  EXPECT_THROW(Model(std::unique_ptr<Module>(), {2}), UsageError);
}

// A file would have lost one of them.
TEST(NamedWeights, OfTwoNetsThatUseOneNameAreRefused) {
  struct Both : Module {
    Sequential &first, &second;
    Both(Sequential& a, Sequential& b) : first(a), second(b) {}
    Variable forward(const Variable& x, const Context& context) override {
      return second(first(x, context), context);
    }
  };
  Sequential first(Dense({.units = 2})), second(Dense({.units = 2}));
  first.build({2}), second.build({2});
  Both both(first, second);
  both.build({2});
  EXPECT_THROW(named_weights(both), UsageError);
}

TEST(Model, IsReplacedByAssignment) {
  Model model = small_model(), other = small_model({.seed = 7});
  const std::string hash = other.weights_sha256();
  ASSERT_NE(model.weights_sha256(), hash);
  model = std::move(other);
  EXPECT_EQ(model.weights_sha256(), hash);
  EXPECT_EQ(model.predict(Tensor::zeros({2, 6, 6, 1})).shape(), (Shape{2, 3}));
}

// As the header promises: what several threads get is what one gets.
TEST(Model, PredictsInSeveralThreadsAtOnce) {
  Model model = small_model();
  const InMemoryDataset data = small_images(64);
  const Tensor inputs = data.inputs().to(DType::f32);
  const std::vector<float> alone = model.predict(inputs, 8).to_vector<float>();
  std::array<std::vector<float>, 4> together;
  std::vector<std::thread> threads;
  for (std::vector<float>& result : together)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) result = model.predict(inputs, 8).to_vector<float>();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : together) EXPECT_EQ(result, alone);
}

TEST(Logs, KeepOrderAndReplace) {
  Logs logs;
  logs.set("loss", 1);
  logs.set("accuracy", 2);
  logs.set("loss", 3);
  ASSERT_EQ(logs.entries().size(), 2u);
  EXPECT_EQ(logs.entries()[0].first, "loss");
  EXPECT_EQ(*logs.find("loss"), 3);
  EXPECT_EQ(logs.find("none"), nullptr);
}

TEST(Logs, AtNamesWhatThereIs) {
  Logs logs;
  EXPECT_EQ(message_of<UsageError>([&] { logs.at("loss"); }),
            "[logs] there is no \"loss\", only nothing yet");
  logs.set("loss", 0.5);
  logs.set("accuracy", 0.25);
  EXPECT_EQ(logs.at("accuracy"), 0.25);
  EXPECT_EQ(message_of<UsageError>([&] { logs.at("acc"); }),
            "[logs] there is no \"acc\", only loss, accuracy");
}

}  // namespace
}  // namespace ronde::test
