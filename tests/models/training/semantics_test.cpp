// What training means does not depend on the number of ranks: every kind of net and option, on 1 to 16 ranks,
// against one rank.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <numeric>

#include <ronde/core/ops.h>
#include <ronde/core/sha256.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/merge.h>

#include "models/testing.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using test::run_ranks;
using Net = std::function<std::unique_ptr<Module>()>;

const std::vector<int> kRanks{2, 3, 4, 5, 7, 8, 16};
const std::vector<int> kSomeRanks{2, 7};  // where another test has them all

struct Training {
  Net net = [] { return small_net(); };
  std::function<std::unique_ptr<Optimizer>()> optimizer = [] {
    return std::make_unique<Adam>(AdamOptions{.learning_rate = 0.02});
  };
  InMemoryDataset data = small_images(53);  // 53 = 3 * 15 + 8: the last batch is smaller
  FitOptions fit = {.global_batch_size = 15, .epochs = 2};
  double tolerance = 1e-11;
};

struct Outcome {
  std::vector<double> weights;
  std::map<std::string, std::vector<double>> history;
  std::int64_t iterations = 0;
  Evaluation evaluation;
};

/// Weights, moving statistics, the optimizer's state and the counters, in one hash.
std::string state_hash(Model& model) {
  Sha256 hash;
  const auto add = [&](const Tensor& tensor) { hash.update(tensor.raw(), tensor.byte_size()); };
  add(model.arena().values());
  add(model.arena().buffers());
  for (const OptimizerSlot& slot : model.optimizer().slots()) add(slot.values);
  const TrainingProgress& progress = model.progress();
  return cat(hash.hex(), " ", model.optimizer().iterations(), " ", model.optimizer().learning_rate(), " ",
             progress.steps, " ", progress.epochs);
}

Outcome run(const Training& training, int ranks) {
  Outcome result;
  std::mutex lock;
  std::map<std::string, int> at_first, at_last;
  run_ranks(ranks, [&](Communicator& world) {
    Model model(training.net(), training.data.input_shape(),
                {.communicator = &world, .seed = 5, .dtype = DType::f64, .backend = &backend("cpu")});
    model.compile({.optimizer = training.optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
    const std::string before = state_hash(model);
    FitOptions options = training.fit;
    options.verbose = 0;
    const History history = model.fit(training.data, options);
    const Evaluation evaluation = model.evaluate(training.data, 4);
    const std::lock_guard guard(lock);
    ++at_first[before];
    ++at_last[state_hash(model)];
    if (world.rank() != 0) return;
    const Tensor values = model.arena().values().view(0, {model.arena().size()});
    result = {values.to_vector<double>(), history.values, model.optimizer().iterations(), evaluation};
  });
  EXPECT_EQ(at_first.size(), 1u) << "the ranks begin differently";
  EXPECT_EQ(at_last.size(), 1u) << "the ranks end differently";
  return result;
}

void expect_same(const Outcome& actual, const Outcome& expected, double tolerance) {
  ASSERT_EQ(actual.weights.size(), expected.weights.size());
  for (std::size_t i = 0; i < actual.weights.size(); ++i)
    ASSERT_NEAR(actual.weights[i], expected.weights[i], tolerance) << "weight " << i;
  EXPECT_EQ(actual.iterations, expected.iterations);
  EXPECT_EQ(actual.history.at("accuracy"), expected.history.at("accuracy"));
  for (std::size_t e = 0; e < expected.history.at("loss").size(); ++e)
    EXPECT_NEAR(actual.history.at("loss")[e], expected.history.at("loss")[e], tolerance);
  EXPECT_EQ(actual.evaluation.correct, expected.evaluation.correct);
  EXPECT_EQ(actual.evaluation.count, expected.evaluation.count);
}

/// On these numbers of ranks as on one. Returns what one gives.
Outcome expect_same_on_all_ranks(const Training& training, const std::vector<int>& numbers = kRanks) {
  Outcome alone = run(training, 1);
  for (const int ranks : numbers) {
    SCOPED_TRACE(cat(ranks, " ranks"));
    expect_same(run(training, ranks), alone, training.tolerance);
  }
  return alone;
}

TEST(Semantics, ANetWithDropout) {
  expect_same_on_all_ranks({});
}

TEST(Semantics, EmptyShards) {
  expect_same_on_all_ranks({.fit = {.global_batch_size = 3, .max_steps = 20}});
}

TEST(Semantics, MicroBatches) {
  const Outcome whole = run({}, 1);
  for (const int ranks : {1, 2, 5})
    expect_same(run({.fit = {.global_batch_size = 15, .epochs = 2, .micro_batch = 2}}, ranks), whole, 1e-11);
}

TEST(Semantics, FrozenLayers) {
  const Training training{.net = [] {
    auto net = std::make_unique<Sequential>(Flatten(), Dense({.units = 6, .activation = Activation::tanh}),
                                            Dense({.units = 5, .activation = Activation::tanh}),
                                            Dense({.units = 3, .activation = Activation::softmax}));
    net->layers()[2]->set_trainable(false);
    return net;
  }};
  expect_same_on_all_ranks(training);
}

// A fine-tuning: train, freeze, compile again. Weight decay moves whatever is trained.
TEST(Semantics, LayersFrozenAfterTraining) {
  std::vector<double> alone;
  for (const int ranks : {1, 2, 5}) {
    run_ranks(ranks, [&](Communicator& world) {
      auto net = small_net();
      Module& base = *net->layers()[0];
      Model model(std::move(net), {6, 6, 1},
                  {.communicator = &world, .seed = 5, .dtype = DType::f64, .backend = &backend("cpu")});
      const auto fit = [&] {
        model.compile({.optimizer = std::make_unique<AdamW>(AdamWOptions{.weight_decay = 0.1}),
                       .loss = std::make_unique<CategoricalCrossentropy>()});
        model.fit(small_images(53), {.global_batch_size = 15, .verbose = 0});
      };
      const auto kernel = [&] { return base.parameters()[0].variable.value().to_vector<double>(); };
      fit();
      const std::vector<double> trained = kernel();
      base.set_trainable(false);
      fit();
      EXPECT_EQ(kernel(), trained);
      const std::vector<double> head =
          model.module().parameters().back().variable.value().to_vector<double>();
      if (ranks == 1) alone = head;
      for (std::size_t i = 0; i < head.size(); ++i) EXPECT_NEAR(head[i], alone[i], 1e-11);
      base.set_trainable(true);
      fit();
      EXPECT_NE(kernel(), trained);
    });
  }
}

TEST(Semantics, ALayerCalledTwice) {
  const Training training{.net = [] {
    auto net = std::make_unique<Graph>();
    Symbol y = net->add(Flatten(), net->input());
    y = net->add(Dense({.units = 6, .activation = Activation::tanh}), y);
    const Symbol first = net->add(Dense({.units = 6, .activation = Activation::tanh, .name = "shared"}), y);
    y = net->add(Add(), {y, net->add(first.layer(), first)});
    net->output(net->add(Dense({.units = 3, .activation = Activation::softmax}), y));
    return net;
  }};
  expect_same_on_all_ranks(training);
}

/// Bright images take a way of their own: a rank that has none does not use its weights, nor does any rank
/// those of `spare`.
struct Conditional : Module {
  Dense common{{.units = 6, .activation = Activation::tanh}};
  Dense bright{{.units = 6, .activation = Activation::tanh}};
  Dense spare{{.units = 6}};
  Dense out{{.units = 3, .activation = Activation::softmax}};
  Conditional() {
    add_module("common", common);
    add_module("bright", bright);
    add_module("spare", spare);
    add_module("out", out);
  }
  Variable forward(const Variable& x, const Context& context) override {
    const Variable flat = reshape(x, {x.size(0), 36});
    if (context.trace != nullptr) {  // build: every layer once
      bright(flat, context);
      spare(flat, context);
    }
    std::vector<double> marks;
    const std::vector<double> pixels = flat.value().to_vector<double>();
    for (std::int64_t i = 0; i < x.size(0); ++i)
      marks.push_back(std::accumulate(&pixels[static_cast<std::size_t>(36 * i)],
                                      &pixels[static_cast<std::size_t>(36 * i)] + 36, 0.0) > 20.0);
    Variable y = common(flat, context);
    if (std::accumulate(marks.begin(), marks.end(), 0.0) > 0.0)
      y = y + bright(flat, context) * Tensor::from<double>({x.size(0), 1}, marks, &x.value().backend());
    return out(y, context);
  }
};

TEST(Semantics, ConditionalAndUnusedLayers) {
  expect_same_on_all_ranks({.net = [] { return std::make_unique<Conditional>(); },
                            .fit = {.global_batch_size = 6, .max_steps = 12}});
}

TEST(Semantics, SynchronizedBatchNorm) {
  const Training training{.net =
                              [] {
                                return std::make_unique<Sequential>(
                                    Conv2D({.filters = 4}), BatchNormalization({.synchronized = true}),
                                    Activation(Activation::relu), MaxPooling2D(), Flatten(),
                                    BatchNormalization({.synchronized = true}),
                                    Dense({.units = 3, .activation = Activation::softmax}));
                              },
                          .tolerance = 1e-9};  // Adam makes much of gradients near zero
  const Outcome alone = expect_same_on_all_ranks(training);
  Training small = training;
  small.fit = {.global_batch_size = 15, .epochs = 2, .micro_batch = 2};  // of no effect
  expect_same(run(small, 2), alone, 1e-9);
  small.fit = {.global_batch_size = 3, .max_steps = 20};  // empty shards
  expect_same_on_all_ranks(small, kSomeRanks);
}

TEST(Semantics, DeterministicRefusesSynchronizedLayers) {
  const std::string message = message_of<UsageError>([] {
    run({.net =
             [] {
               return std::make_unique<Sequential>(Flatten(), BatchNormalization({.synchronized = true}),
                                                   Dense({.units = 3}));
             },
         .fit = {.deterministic = true}},
        1);
  });
  EXPECT_NE(message.find("batch_normalization is synchronized"), std::string::npos) << message;
}

InMemoryDataset small_texts(std::int64_t count) {
  std::vector<std::int32_t> words, labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(i * 5 % 3);
    labels.push_back(label);
    for (std::int64_t k = 0; k < 5; ++k)
      words.push_back(static_cast<std::int32_t>(k == i % 5 ? 90 + label : (i * 13 + k * k * 7) % 90));
  }
  return {Tensor::from<std::int32_t>({count, 5}, words), Tensor::from<std::int32_t>({count}, labels)};
}

TEST(Semantics, ATextNet) {
  const Training training{.net =
                              [] {
                                return std::make_unique<Sequential>(
                                    Embedding({.input_dim = 200, .output_dim = 4}), GlobalAveragePooling1D(),
                                    Dense({.units = 3, .activation = Activation::softmax}));
                              },
                          .data = small_texts(53),
                          .fit = {.global_batch_size = 15, .epochs = 20}};
  const Outcome alone = expect_same_on_all_ranks(training, kSomeRanks);
  EXPECT_GT(alone.history.at("accuracy").back(), 0.9) << "it does not learn, so it proves nothing";
}

/// Sentences of one to six words, the rest 0, and for each word its rest by three.
InMemoryDataset small_sentences(std::int64_t count) {
  std::vector<std::int32_t> words, tags;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < 6; ++k) {
      words.push_back(k <= i * 7 % 6 ? 1 + static_cast<std::int32_t>((i * 13 + k * k * 7) % 30) : 0);
      tags.push_back(words.back() % 3);
    }
  return {Tensor::from<std::int32_t>({count, 6}, words), Tensor::from<std::int32_t>({count, 6}, tags)};
}

TEST(Semantics, MaskedOutputs) {
  Training training{.net =
                        [] {
                          return std::make_unique<Sequential>(
                              Embedding({.input_dim = 40, .output_dim = 4, .mask_zero = true}),
                              GRU({.units = 4, .return_sequences = true}),
                              Dense({.units = 3, .activation = Activation::softmax}));
                        },
                    .data = small_sentences(53),
                    .fit = {.global_batch_size = 15, .epochs = 20}};
  for (int i = 0; i < 53; ++i) training.fit.sample_weight.push_back(0.5 + i % 3);
  const Outcome alone = expect_same_on_all_ranks(training, kSomeRanks);
  EXPECT_GT(alone.history.at("accuracy").back(), 0.9) << "it does not learn, so it proves nothing";
  Training small = training;
  small.fit.micro_batch = 2;  // of no effect
  expect_same(run(small, 2), alone, 1e-9);
  small.fit = {
      .global_batch_size = 3, .max_steps = 20, .sample_weight = training.fit.sample_weight};  // empty shards
  expect_same_on_all_ranks(small, kSomeRanks);
  training.fit.deterministic = true;
  const std::string message = message_of<UsageError>([&] { run(training, 1); });
  EXPECT_NE(message.find("the net's outputs have a mask"), std::string::npos) << message;
}

TEST(Semantics, Clipping) {
  // A limit of each kind that many gradients exceed, so that a clip before the sum would show.
  for (const ClipOptions& clip :
       {ClipOptions{.norm = 0.05}, ClipOptions{.global_norm = 0.1}, ClipOptions{.value = 0.01}}) {
    const Training training{
        .optimizer =
            [&] {
              return std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .clip = clip});
            },
        .tolerance = 1e-12};
    const Outcome clipped = expect_same_on_all_ranks(training, kSomeRanks);
    const Outcome free =
        run({.optimizer =
                 [] { return std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9}); }},
            1);
    double difference = 0.0;
    for (std::size_t i = 0; i < free.weights.size(); ++i)
      difference = std::max(difference, std::abs(free.weights[i] - clipped.weights[i]));
    EXPECT_GT(difference, 1e-2) << "nothing was clipped";
  }
}

// --- backward_passes_per_step

TEST(Accumulation, OfSmallBatchesIsOneLargeBatch) {
  // 53 samples: 15 + 15 + 15 + 8, or eleven batches of 5 (the last of 3) in groups of three.
  const Outcome large = run({}, 1);
  const FitOptions small{.global_batch_size = 5, .epochs = 2, .backward_passes_per_step = 3};
  EXPECT_EQ(large.iterations, 8);
  for (const int ranks : {1, 2, 3, 7, 8}) {
    SCOPED_TRACE(cat(ranks, " ranks"));
    expect_same(run({.fit = small}, ranks), large, 1e-11);
  }
  FitOptions pieces = small;
  pieces.micro_batch = 1;
  expect_same(run({.fit = pieces}, 2), large, 1e-11);
}

TEST(Accumulation, InDeterministicMode) {
  const auto options = [](std::int64_t passes) {
    return FitOptions{.global_batch_size = 15 / passes,
                      .epochs = 2,
                      .backward_passes_per_step = passes,
                      .deterministic = true};
  };
  expect_same(run({.fit = options(3)}, 1), run({.fit = options(1)}, 1), 1e-11);
  const Outcome alone = run({.fit = options(3)}, 1);
  for (const int ranks : {2, 3, 8, 16}) expect_same(run({.fit = options(3)}, ranks), alone, 0.0);
}

TEST(Accumulation, EndsWithAnUpdateWhenTrainingIsStopped) {
  for (const bool deterministic : {false, true}) {
    Model model = small_model();
    LambdaCallback stop({.on_train_batch_end = [&](std::int64_t batch, const Logs&) {
      if (batch == 4) model.stop_training();
    }});
    model.fit(small_images(53), {.batch_size = 5,
                                 .epochs = 3,
                                 .backward_passes_per_step = 3,
                                 .deterministic = deterministic,
                                 .callbacks = {&stop},
                                 .verbose = 0});
    EXPECT_EQ(model.optimizer().iterations(), 2);  // of three batches, then of two
    EXPECT_EQ(model.progress().steps, 5);
  }
}

TEST(Accumulation, RefusesWhatCutsAnUpdate) {
  Model model = small_model();
  const InMemoryDataset data = small_images(53);
  EXPECT_THROW(model.fit(data, {.batch_size = 5, .backward_passes_per_step = 0}), UsageError);
  EXPECT_EQ(message_of<UsageError>([&] {
              model.fit(data, {.batch_size = 5, .max_steps = 4, .backward_passes_per_step = 3, .verbose = 0});
            }),
            "[fit] max_steps 4 ends within an update of 3 batches");
  std::string message;
  LambdaCallback save({.on_train_batch_end = [&](std::int64_t batch, const Logs&) {
    if (batch == 1) message = message_of<UsageError>([&] { model.save("never.h5"); });
  }});
  model.fit(data, {.batch_size = 5, .backward_passes_per_step = 3, .callbacks = {&save}, .verbose = 0});
  EXPECT_NE(message.find("2 of 3 batches of an update are done"), std::string::npos) << message;
}

}  // namespace
}  // namespace ronde::test
