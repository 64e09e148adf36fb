// A small transformer in a program's own net: token and position embeddings, attention, a feed-forward part.
#include <gtest/gtest.h>

#include <mutex>

#include <ronde/core/ops.h>
#include <ronde/models/named_weights.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/multi_head_attention.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kLength = 6, kTokens = 3, kFeatures = 12;

/// x + table: a learned vector for each place.
struct Positions : Module {
  Variable table;
  std::string class_name() const override { return "Positions"; }
  void build_weights(const Shape& input, const BuildOptions& options) override {
    table = add_weight({.name = "table"}, input.tail(1), Initializer::random_uniform(), options);
  }
  Variable forward(const Variable& x, const Context&) override { return x + table; }
};

struct Transformer : Module {
  Embedding tokens{{.input_dim = kTokens, .output_dim = kFeatures}};
  Positions positions;
  MultiHeadAttention attention{{.num_heads = 2, .key_dim = 6, .dropout = 0.05}};
  LayerNormalization norm1{{.epsilon = 1e-6}}, norm2{{.epsilon = 1e-6}};
  Dense wide{{.units = 24, .activation = Activation::relu}}, narrow{{.units = kFeatures}};
  GlobalAveragePooling1D pool;
  Dense classes{{.units = 2}};
  Transformer() {
    add_module("tokens", tokens), add_module("positions", positions), add_module("attention", attention);
    add_module("norm1", norm1), add_module("norm2", norm2), add_module("wide", wide);
    add_module("narrow", narrow), add_module("pool", pool), add_module("classes", classes);
  }
  Variable forward(const Variable& indices, const Context& context) override {
    Variable x = positions(tokens(indices, context), context);
    x = norm1(x + attention(x, context), context);
    x = norm2(x + narrow(wide(x, context), context), context);
    return classes(pool(x, context), context);
  }
};

/// Whether the tokens at the places 1 and 4 are equal: no sum over steps that know nothing of each other, or
/// of their places, tells that.
InMemoryDataset sequences() {
  constexpr std::int64_t kCount = 729;  // all there are
  std::vector<float> tokens;
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::size_t first = tokens.size();
    for (std::int64_t rest = i, step = 0; step < kLength; ++step, rest /= kTokens)
      tokens.push_back(static_cast<float>(rest % kTokens));
    labels.push_back(tokens[first + 1] == tokens[first + 4] ? 1 : 0);
  }
  return {Tensor::from<float>({kCount, kLength}, tokens), Tensor::from<std::int32_t>({kCount}, labels)};
}

Model transformer(ModelOptions options) {
  options.seed = 3;
  Model model(std::make_unique<Transformer>(), {kLength}, options);
  model.compile(
      {.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01}),
       .loss = std::make_unique<SparseCategoricalCrossentropy>(CrossentropyOptions{.from_logits = true})});
  return model;
}

struct Learned {
  std::vector<double> losses;
  double accuracy = 0.0;
};

Learned learned_on(int ranks, std::int64_t epochs, DType dtype, Backend* backend) {
  Learned learned;
  std::mutex lock;
  test::run_ranks(ranks, [&](Communicator& world) {
    Model model = transformer({.communicator = &world, .dtype = dtype, .backend = backend});
    const InMemoryDataset data = sequences();
    const History history = model.fit(data, {.global_batch_size = 81, .epochs = epochs, .verbose = 0});
    const double accuracy = model.evaluate(data).logs.at("accuracy");
    const std::lock_guard guard(lock);
    if (world.rank() == 0) learned = {history.values.at("loss"), accuracy};
  });
  return learned;
}

TEST(Transformer, LearnsWhatOnlyAttentionTells) {
  const Learned learned = learned_on(2, 30, DType::f32, nullptr);
  EXPECT_GT(learned.accuracy, 0.95);
}

TEST(Transformer, IsTheSameTrainingOnTwoRanks) {
  const Learned one = learned_on(1, 3, DType::f64, &backend("cpu"));
  const Learned two = learned_on(2, 3, DType::f64, &backend("cpu"));
  ASSERT_EQ(two.losses.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(two.losses[i], one.losses[i], 1e-9 * one.losses[i]);
}

TEST(Transformer, ItsWeightsComeBackFromFiles) {
  const TempDir dir;
  Model model = transformer({});
  for (const char* name : {"t.h5", "t.weights.h5", "t.safetensors"}) {
    model.save_weights(dir / name);
    Model other(std::make_unique<Transformer>(), {kLength}, {.seed = 4});
    EXPECT_NE(other.weights_sha256(), model.weights_sha256());
    other.load_weights(dir / name);
    EXPECT_EQ(other.weights_sha256(), model.weights_sha256()) << name;
  }
}

// PyTorch's nn.MultiheadAttention has three of its kernels in one weight.
TEST(Transformer, WithPyTorchsNamesItsProjectionsAreApart) {
  Model model = transformer({}), other(std::make_unique<Transformer>(), {kLength}, {.seed = 4});
  const NamedTensors weights = named_weights(model.module(), WeightNames::torch);
  EXPECT_EQ(weights.at("attention.query.weight").shape(), (Shape{kFeatures, 2, 6}));
  EXPECT_EQ(weights.at("attention.attention_output.bias").shape(), Shape{kFeatures});
  assign_named_weights(other.module(), weights);
  EXPECT_EQ(other.weights_sha256(), model.weights_sha256());
  NamedTensors joined = weights;
  for (const char* part : {"query", "key", "value"}) joined.erase(cat("attention.", part, ".weight"));
  joined.emplace("attention.in_proj_weight", Tensor::zeros({3 * kFeatures, kFeatures}));
  EXPECT_EQ(message_of([&] { assign_named_weights(other.module(), joined); }),
            "there is no weight attention.query.weight, which this net has");
}

}  // namespace
}  // namespace ronde::test
