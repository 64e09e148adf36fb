// A run goes on as it was, or not at all: what `resume` finds of another data set, optimizer, loss or
// augmentation.
#include <gtest/gtest.h>

#include <ronde/data/geometric_augmentations.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/saved_model.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/output_losses.h>
#include <ronde/nn/regression_loss.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

std::unique_ptr<Optimizer> sgd_with(const SGDOptions& changes) {
  SGDOptions options = changes;
  options.learning_rate = 0.1;
  options.momentum = 0.9;
  return std::make_unique<SGD>(options);
}

std::unique_ptr<Optimizer> with_cosine(std::unique_ptr<Optimizer> optimizer) {
  optimizer->set_schedule(
      std::make_shared<CosineDecay>(CosineDecayOptions{.initial_rate = 1.0, .decay_steps = 20}));
  return optimizer;
}

std::unique_ptr<Optimizer> with_one_cycle(std::unique_ptr<Optimizer> optimizer) {
  optimizer->set_schedule(std::make_shared<OneCycle>(OneCycleOptions{.peak_rate = 1.0, .total_steps = 40}));
  return optimizer;
}

Model model_with(std::unique_ptr<Optimizer> optimizer, Communicator* ranks = nullptr) {
  Model model(small_net(), {6, 6, 1}, {.communicator = ranks, .backend = &backend("cpu")});
  model.compile({.optimizer = std::move(optimizer), .loss = std::make_unique<CategoricalCrossentropy>()});
  return model;
}

FitOptions batches_of_four(std::int64_t epochs, bool resume = false) {
  return {.batch_size = 4, .epochs = epochs, .resume = resume, .verbose = 0};
}

void save_run(const MakeOptimizer& optimizer, const std::string& path) {
  Model model = model_with(optimizer());
  model.fit(small_images(8), batches_of_four(1));
  model.save(path);
}

std::string resumed(const MakeOptimizer& optimizer, const std::string& path) {
  Model model = model_with(optimizer());
  model.load_weights(path);
  return message_of<UsageError>([&] { model.fit(small_images(8), batches_of_four(2, true)); });
}

const std::string kRefused = "[fit] cannot resume: the run to go on with has ";
const std::string kAdvice = ": give the same";

TEST(AnotherRun, ASettingThatOneSideHasNotIsRefused) {
  const TempDir dir(memory_directory());
  const MakeOptimizer plain = [] { return sgd_with({}); };
  save_run(plain, dir / "plain.h5");
  EXPECT_EQ(resumed(plain, dir / "plain.h5"), "no error");
  struct Case {
    MakeOptimizer make;
    std::string setting, value;
  };
  const std::vector<Case> cases{
      {[] { return sgd_with({.l2 = 0.01}); }, "l2", "0.01"},
      {[] { return sgd_with({.decay = 0.1}); }, "decay_steps", "1"},
      {[] { return with_cosine(sgd_with({})); }, "schedule's class_name", "CosineDecay"},
      {[] { return with_one_cycle(sgd_with({})); }, "schedule's class_name", "OneCycle"},
      {[] {
         auto averaged = sgd_with({});
         averaged->set_moving_average({.momentum = 0.9});
         return averaged;
       },
       "use_ema", "true"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.setting);
    const std::string setting = "optimizer's " + one.setting;
    if (one.setting != "use_ema") {  // its state is missing when the file is loaded
      EXPECT_EQ(resumed(one.make, dir / "plain.h5"),
                kRefused + setting + " none, this one has " + one.value + kAdvice);
    }
    save_run(one.make, dir / "with.h5");
    EXPECT_EQ(resumed(plain, dir / "with.h5"),
              kRefused + setting + " " + one.value + ", this one has none" + kAdvice);
    EXPECT_EQ(resumed(one.make, dir / "with.h5"), "no error");
  }
  save_run([] { return with_cosine(sgd_with({.decay = 0.1})); }, dir / "with.h5");
  EXPECT_EQ(resumed([] { return with_cosine(sgd_with({.decay = 0.2})); }, dir / "with.h5"),
            kRefused + "optimizer's decay_rate 0.1, this one has 0.2" + kAdvice);
}

/// Takes out of a file's plan what an earlier Ronde did not write.
void forget_in_plan(const std::string& path, const std::function<bool(const std::string&)>& is_new) {
  SavedModel file = read_saved_model(path);
  std::erase_if(file.state->run->plan, [&](const auto& entry) { return is_new(entry.first); });
  file.state->run->metrics.reset();
  write_saved_model(path, std::move(file));
}

TEST(AnotherRun, FilesOfEarlierVersionsGoOnWithDefaults) {
  const TempDir dir(memory_directory());
  const MakeOptimizer plain = [] { return sgd_with({}); };
  save_run(plain, dir / "old.h5");
  forget_in_plan(dir / "old.h5", [](const std::string& key) {
    return key.ends_with("clipnorm") || key == "class weights" || key == "losses of the outputs" ||
           key == "validation sample weights" || key == "augmentation's pictures";
  });
  EXPECT_EQ(resumed(plain, dir / "old.h5"), "no error");
  EXPECT_EQ(resumed([] { return sgd_with({.clip = {.global_norm = 0.5}}); }, dir / "old.h5"),
            kRefused + "optimizer's global_clipnorm none, this one has 0.5" + kAdvice);
}

TEST(AnotherRun, AScheduleThatKerasHasNotIsLeftOutAloud) {
  const TempDir dir(memory_directory());
  const std::vector<std::pair<MakeOptimizer, std::string>> cases{
      {[] { return with_one_cycle(sgd_with({})); }, "OneCycle"},
      {[] { return with_cosine(sgd_with({.decay = 0.1})); }, "CosineDecay"}};
  for (const auto& [make, schedule] : cases) {
    SCOPED_TRACE(schedule);
    save_run(make, dir / "run.h5");
    std::vector<std::string> lines;
    Model model = Model::load(
        dir / "run.h5",
        {.backend = &backend("cpu"), .warn = [&](const std::string& line) { lines.push_back(line); }});
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_TRUE(lines[0].starts_with(dir / "run.h5" +
                                     ": left out: the optimizer's schedule of learning rates "
                                     R"({"class_name":")" +
                                     schedule + "\""))
        << lines[0];
    EXPECT_EQ(message_of<UsageError>([&] { model.fit(small_images(8), batches_of_four(2, true)); }),
              kRefused + "optimizer's schedule's class_name " + schedule + ", this one has none" + kAdvice);
  }
  save_run([] { return with_cosine(sgd_with({})); }, dir / "run.h5");
  Model model = Model::load(dir / "run.h5", {.backend = &backend("cpu"),
                                             .warn = [](const std::string& line) { ADD_FAILURE() << line; }});
  model.fit(small_images(8), batches_of_four(2, true));
}

TEST(AnotherRun, OtherLossesOfTheOutputsAreRefused) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data(Tensor::full({8, 3}, 0.5), Tensor::full({8, 2}, 2.0));
  const auto fit = [&](double weight, const char* loss, bool resume) {
    Graph net;
    const auto input = net.input("x", {3});
    net.output(
        {net.add(Dense({.units = 1, .name = "a"}), input), net.add(Dense({.units = 1, .name = "b"}), input)});
    Model model(net, {3});
    model.compile({.optimizer = std::make_unique<SGD>(),
                   .loss = std::make_unique<OutputLosses>(
                       net.output_parts(),
                       std::vector<OutputLoss>{{.output = "a", .loss = make_loss("mse")},
                                               {.output = "b", .loss = make_loss(loss), .weight = weight}})});
    if (resume) model.load_weights(dir / "run.h5");
    model.fit(data, batches_of_four(resume ? 2 : 1, resume));
    if (!resume) model.save(dir / "run.h5");
  };
  fit(0.5, "mse", false);
  fit(0.5, "mse", true);
  const auto text = [](const std::string& weight, const std::string& loss) {
    return R"({"a":{"loss":"mean_squared_error","weight":1.0},"b":{"loss":")" + loss + R"(","weight":)" +
           weight + "}}";
  };
  const std::string begin =
      kRefused + "losses of the outputs " + text("0.5", "mean_squared_error") + ", this one has ";
  EXPECT_EQ(message_of<UsageError>([&] { fit(50, "mse", true); }),
            begin + text("50.0", "mean_squared_error") + kAdvice);
  EXPECT_EQ(message_of<UsageError>([&] { fit(0.5, "mae", true); }),
            begin + text("0.5", "mean_absolute_error") + kAdvice);
}

TEST(AnotherRun, OtherWeightsOfTheValidationAndOtherAugmentationsAreRefused) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(8);
  const Augment shift(RandomShift({.width_shift_range = 0.2})),
      further(RandomShift({.width_shift_range = 0.4})), flip(RandomFlip({.horizontal_flip = true})),
      same(RandomShift({.width_shift_range = 0.2}));
  const auto options = [&](std::int64_t epochs, const Augmentation& augmentation, double weight) {
    FitOptions fit = batches_of_four(epochs, epochs > 1);
    fit.augmentation = &augmentation;
    fit.validation = &data;
    fit.validation_sample_weight = std::vector<double>(8, weight);
    return fit;
  };
  Model begun = small_model();
  begun.fit(data, options(1, shift, 2.0));
  begun.save(dir / "run.h5");
  const auto resumed_with = [&](const Augmentation& augmentation, double weight) {
    Model model = small_model();
    model.load_weights(dir / "run.h5");
    return message_of<UsageError>([&] { model.fit(data, options(2, augmentation, weight)); });
  };
  EXPECT_EQ(resumed_with(same, 2.0), "no error");
  for (const Augmentation* other : {&further, &flip})
    EXPECT_TRUE(resumed_with(*other, 2.0).starts_with(kRefused + "augmentation's pictures with hash "));
  EXPECT_TRUE(resumed_with(same, 3.0).starts_with(kRefused + "validation sample weights 8 with hash "));
}

struct NetOptions {
  double dropout = 0.25;
  double momentum = 0.9;
  Activation::Kind activation = Activation::relu;
  MovingVariance moving_variance = MovingVariance::biased;
};

Model model_of_net(const NetOptions& options, Communicator* ranks = nullptr) {
  auto net = std::make_unique<Sequential>(
      Flatten(), Dense({.units = 8, .activation = options.activation}),
      BatchNormalization({.momentum = options.momentum, .moving_variance = options.moving_variance}),
      Dropout(options.dropout), Dense({.units = 3, .activation = Activation::softmax}));
  Model model(std::move(net), {6, 6, 1}, {.communicator = ranks, .backend = &backend("cpu")});
  model.compile({.optimizer = sgd_with({}), .loss = std::make_unique<CategoricalCrossentropy>()});
  return model;
}

// Its weights fit.
TEST(AnotherRun, ANetWhoseLayersHaveOtherOptionsIsRefused) {
  const TempDir dir(memory_directory());
  Model begun = model_of_net({});
  begun.fit(small_images(8), batches_of_four(1));
  begun.save(dir / "run.h5");
  const auto resumed_with = [&](const NetOptions& options) {
    Model model = model_of_net(options);
    model.load_weights(dir / "run.h5");
    return message_of<UsageError>([&] { model.fit(small_images(8), batches_of_four(2, true)); });
  };
  EXPECT_EQ(resumed_with({}), "no error");
  for (const NetOptions& other :
       {NetOptions{.dropout = 0.5}, NetOptions{.momentum = 0.99}, NetOptions{.activation = Activation::tanh}})
    EXPECT_TRUE(resumed_with(other).starts_with(kRefused + "net with hash "));
  Model loaded = Model::load(dir / "run.h5", {.backend = &backend("cpu")});
  EXPECT_EQ(message_of<UsageError>([&] { loaded.fit(small_images(8), batches_of_four(2, true)); }),
            "no error");
}

TEST(AnotherRun, OtherFrozenWeightsAreRefused) {
  const TempDir dir(memory_directory());
  const auto model_of = [](bool is_frozen) {
    auto net = std::make_unique<Sequential>(Flatten(), Dense({.units = 4}), Dense({.units = 3}));
    net->layers()[1]->set_trainable(!is_frozen);
    Model model(std::move(net), {6, 6, 1}, {.backend = &backend("cpu")});
    model.compile(
        {.optimizer = std::make_unique<SGD>(), .loss = std::make_unique<CategoricalCrossentropy>()});
    return model;
  };
  for (const bool is_frozen : {false, true}) {
    Model begun = model_of(is_frozen);
    begun.fit(small_images(8), batches_of_four(1));
    begun.save(dir / "run.h5");
    const auto resumed_with = [&](bool is_frozen_now) {
      Model model = model_of(is_frozen_now);
      model.load_weights(dir / "run.h5");
      return message_of<UsageError>([&] { model.fit(small_images(8), batches_of_four(2, true)); });
    };
    EXPECT_EQ(resumed_with(is_frozen), "no error");
    const std::string said = resumed_with(!is_frozen);
    EXPECT_TRUE(said.starts_with(kRefused + "frozen weights " + (is_frozen ? "2 with hash " : "none, ")))
        << said;
  }
}

// Which is in no description of Keras'.
TEST(AnotherRun, AnotherMovingVarianceIsRefused) {
  const TempDir dir(memory_directory());
  Model begun = model_of_net({.moving_variance = MovingVariance::unbiased});
  begun.fit(small_images(8), batches_of_four(1));
  begun.save(dir / "run.h5");
  Model same = model_of_net({.moving_variance = MovingVariance::unbiased});
  same.load_weights(dir / "run.h5");
  Model loaded = Model::load(dir / "run.h5", {.backend = &backend("cpu")});
  const auto resumed = [&](Model& model) {
    return message_of<UsageError>([&] { model.fit(small_images(8), batches_of_four(2, true)); });
  };
  EXPECT_EQ(resumed(same), "no error");
  EXPECT_TRUE(resumed(loaded).starts_with(kRefused + "net with hash "));
}

TEST(AnotherRun, RanksWithOtherOptionsOfALayerAreRefused) {
  test::run_ranks(2, [&](Communicator& world) {
    Model model = model_of_net({.dropout = world.rank() == 0 ? 0.25 : 0.5}, &world);
    const std::string said = message_of([&] { model.fit(small_images(8), batches_of_four(1)); });
    EXPECT_TRUE(said.starts_with("[fit] rank 1 was asked for net with hash ")) << said;
  });
}

TEST(AnotherRun, WithinAnEpochOtherMetricsAreRefusedAndBehindItNot) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data(Tensor::full({12, 3}, 0.5), Tensor::full({12, 1}, 2.0));
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    const auto fit = [&](const std::vector<const char*>& metrics, const std::string& file) {
      std::string message;
      test::run_ranks(ranks, [&](Communicator& world) {
        Sequential net(Dense({.units = 1}));
        Model model(net, {3}, {.communicator = &world});
        CompileOptions compile{.optimizer = std::make_unique<SGD>(), .loss = make_loss("mse")};
        for (const char* metric : metrics) compile.metrics.push_back(make_metric(metric));
        model.compile(std::move(compile));
        if (!file.empty()) model.load_weights(file);
        ModelCheckpoint steps({.filepath = dir / "{epoch}-{batch}.h5", .save_steps = 1});
        ModelCheckpoint epochs({.filepath = dir / "{epoch}.h5"});
        const FitOptions options{.global_batch_size = 4,
                                 .epochs = 2,
                                 .resume = !file.empty(),
                                 .callbacks = {&steps, &epochs},
                                 .verbose = 0};
        const std::string said = message_of<UsageError>([&] { model.fit(data, options); });
        if (world.rank() == 0) message = said;
      });
      return message;
    };
    fit({"mae"}, "");
    const std::string begin = "[fit] cannot resume within an epoch: the run to go on with has ";
    EXPECT_EQ(fit({"mse"}, dir / "1-2.h5"), begin + "metrics mae, this one has mse");
    EXPECT_EQ(fit({"mae", "mse"}, dir / "1-2.h5"), begin + "metrics mae, this one has mae, mse");
    EXPECT_EQ(fit({"mae"}, dir / "1-2.h5"), "no error");
    EXPECT_EQ(fit({"mse"}, dir / "1.h5"), "no error");
    fit({"mae"}, "");
    forget_in_plan(dir / "1-2.h5", [](const std::string&) { return false; });
    EXPECT_EQ(fit({"mae", "mse"}, dir / "1-2.h5"),
              begin + "4 sums of loss and metrics, this one has 6 (metrics mae, mse)");
  }
}

TEST(AnotherRun, ANormOfOtherPartsIsSaidSo) {
  const TempDir dir(memory_directory());
  const auto said = [&](const ClipOptions& clip) {
    std::string line;
    test::run_ranks(2, [&](Communicator& world) {
      for (const StateLayout layout : {StateLayout::replicated, StateLayout::sharded}) {
        const bool resume = layout == StateLayout::sharded;
        Model model(small_net(), {6, 6, 1}, {.communicator = &world, .backend = &backend("cpu")});
        model.compile({.optimizer = sgd_with({.clip = clip}),
                       .loss = std::make_unique<CategoricalCrossentropy>(),
                       .distributed = {.state = layout}});
        if (resume) model.load_weights(dir / "run.h5");
        FitOptions fit = batches_of_four(resume ? 2 : 1, resume);
        fit.warn = [&](const std::string& warning) { line += warning; };
        model.fit(small_images(8), fit);
        if (!resume) model.save(dir / "run.h5");
      }
    });
    return line;
  };
  const std::string expected =
      "resuming with optimizer state sharded instead of replicated: sums are rounded differently, so this is "
      "not bit for bit the run that never stopped";
  EXPECT_EQ(said({.norm = 0.1}), expected);
  EXPECT_EQ(said({.global_norm = 0.1}), expected);
  EXPECT_EQ(said({.value = 0.1}), "");
}

}  // namespace
}  // namespace ronde::test
