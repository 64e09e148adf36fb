// Nets with attentions, and with masks, in files of both Kerases: tests/golden/make_attention.py,
// make_masked_net.py and make_tagger.py.
#include <gtest/gtest.h>

#include <ronde/core/ops.h>
#include <ronde/core/random.h>
#include <ronde/models/saved_model.h>
#include <ronde/nn/fbeta_score.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/time_distributed.h>

#include "models/golden_record.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

struct GoldenNet {
  const char* name;
  const char* version;
};

class NetInFiles : public ::testing::TestWithParam<GoldenNet> {
 protected:
  std::string file(const std::string& name) const {
    return cat(GetParam().name, "_keras", GetParam().version, "/", name);
  }
  Tensor values(const ConfigValue& described) const {
    Shape shape;
    for (const ConfigValue& extent : described.at("shape").as_list()) shape.push_back(extent.as_int());
    return f64_tensor(shape, described.at("values")).to(DType::f32);
  }
  Tensor output(const char* name) const { return values(keras_.at(name)); }
  Tensor rows() const {
    std::vector<Variable> inputs;
    for (const ConfigValue& input : keras_.at("inputs").as_list()) inputs.emplace_back(values(input));
    return join_rows(inputs).value();
  }
  Tensor labels() const {
    const ConfigValue& labels = keras_.at("labels");
    return (labels.is_list() ? f64_tensor({8}, labels) : values(labels)).to(DType::i32);
  }

  ConfigValue keras_ = golden_record(file("net.json"));
};

TEST_P(NetInFiles, PredictsFromEveryFile) {
  for (const char* name : {"net.keras", "net.h5"}) {
    Model model = Model::load(golden(file(name)));
    EXPECT_LE(largest_difference(model.predict(rows()), output("output")), 2e-6) << name;
    model.arena().values().fill(0.5);
    model.load_weights(golden(file("net.weights.h5")));
    EXPECT_LE(largest_difference(model.predict(rows()), output("output")), 2e-6);
  }
}

TEST_P(NetInFiles, TrainsOnWithItsOptimizer) {
  Model model = Model::load(golden(file("net.keras")));
  EXPECT_EQ(model.optimizer().iterations(), 3);
  model.train_on_batch(rows().slice(0, 0, 8), labels());
  EXPECT_LE(largest_difference(model.predict(rows()), output("output_after_step")), 1e-5);
}

TEST_P(NetInFiles, ComesBackFromWhatIsSavedForEitherKeras) {
  const TempDir dir;
  Model model = Model::load(golden(file("net.keras")));
  for (const char* name : {"net.keras", "net.h5"})
    for (const KerasOptimizerState state : {KerasOptimizerState::none, KerasOptimizerState::tf2}) {
      // That of Keras 3 has a layer in front of a key, which is given by its name before the query.
      if (state == KerasOptimizerState::tf2 && *GetParam().version == '3') continue;
      model.save(dir / name, {.keras_optimizer_state = state});
      Model again = Model::load(dir / name);
      EXPECT_EQ(again.weights_sha256(), model.weights_sha256());
      EXPECT_EQ(again.predict(rows()).to_vector<float>(), model.predict(rows()).to_vector<float>()) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Versions, NetInFiles,
                         ::testing::Values(GoldenNet{"attention", "2.15.0"}, GoldenNet{"attention", "3.15.1"},
                                           GoldenNet{"masked_net", "2.15.0"},
                                           GoldenNet{"masked_net", "3.15.1"},
                                           GoldenNet{"sequence_net", "2.15.0"},
                                           GoldenNet{"sequence_net", "3.15.1"}, GoldenNet{"tagger", "2.15.0"},
                                           GoldenNet{"tagger", "3.15.1"}),
                         [](const auto& test) { return cat(test.param.name, *test.param.version); });

/// A net whose outputs have a mask.
class Tagger : public NetInFiles {
 protected:
  void expect_evaluation(const char* name, const EvaluateOptions& options) {
    Model model = Model::load(golden(file("net.keras")));
    const InMemoryDataset data(rows().slice(0, 0, 8), labels());
    const Logs logs = model.evaluate(data, options).logs;
    for (const auto& [key, value] : keras_.at(name).as_dict())
      EXPECT_NEAR(logs.at(key), value.as_double(), 3e-7) << name << ": " << key;
  }
};

TEST_P(Tagger, IsEvaluatedAsInKeras) {
  expect_evaluation("evaluation", {.batch_size = 5});
  EvaluateOptions weighted{.batch_size = 5};
  for (const ConfigValue& weight : keras_.at("weights").as_list())
    weighted.sample_weight.push_back(weight.as_double());
  expect_evaluation("weighted_evaluation", weighted);
}

// One that has sums for each class. Of all classes together it is the accuracy.
TEST_P(Tagger, TellsMetricsTheShapeOfAStep) {
  Model model = Model::load(golden(file("net.keras")));
  model.compile({.optimizer = std::make_unique<SGD>(),
                 .loss = std::make_unique<CategoricalCrossentropy>(),
                 .metrics = {std::make_shared<F1Score>(FBetaOptions{.average = ScoreAverage::micro})}});
  const InMemoryDataset data(rows().slice(0, 0, 8), one_hot(labels(), 3));
  EXPECT_NEAR(model.evaluate(data).logs.at("f1_score"), keras_.at("evaluation").at("accuracy").as_double(),
              1e-7);
}

INSTANTIATE_TEST_SUITE_P(Versions, Tagger,
                         ::testing::Values(GoldenNet{"tagger", "2.15.0"}, GoldenNet{"tagger", "3.15.1"}));

/// Keras 2 looks for the parts under other names; the arrays are there once.
TEST(AttentionFile, HasItsPartsUnderTheNamesOfBothKerases) {
  const TempDir dir;
  Model model = Model::load(golden("attention_keras3.15.1/net.keras"));
  model.save_weights(dir / "net.weights.h5");
  const std::string bytes = read_file(dir / "net.weights.h5");
  for (const std::string part : {"query_dense", "key_dense", "value_dense", "output_dense"}) {
    const std::size_t older = bytes.find("_" + part);
    ASSERT_NE(older, std::string::npos) << part;
    EXPECT_TRUE(bytes.find(part) < older || bytes.find(part, older + 2) != std::string::npos) << part;
  }
}

/// A net whose attention has layers of its own in front of value and key, and a file of it.
std::unique_ptr<Graph> with_key(bool value_first) {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input();
  const Symbol of_value = net->add(Dense({.units = 2, .name = "of_value"}), x);
  const Symbol of_key = net->add(Dense({.units = 2, .name = "of_key"}), x);
  const Symbol y = net->add(MultiHeadAttention({.num_heads = 1, .key_dim = 2}), {x, of_value, of_key});
  net->set_by_place(y, value_first ? 3 : 1);
  net->output(net->add(Flatten(), y));
  return net;
}

// Which of two alike layers comes first decides whose weights are whose.
TEST(AttentionFile, LayersInFrontOfValueAndKeyHaveTheOrderOfKeras) {
  const TempDir dir;
  const auto names = [](const Graph& net) {
    std::string all;
    for (const Module* layer : net.layers()) all += layer->name() + " ";
    return all;
  };
  for (const bool value_first : {true, false}) {
    Model model(with_key(value_first), {3, 2});
    const auto& net = dynamic_cast<const Graph&>(model.module());
    EXPECT_EQ(names(net), value_first ? "of_value of_key multi_head_attention flatten "
                                      : "of_key of_value multi_head_attention flatten ");
    model.save(dir / "net.keras");
    Model again = Model::load(dir / "net.keras");
    EXPECT_EQ(again.weights_sha256(), model.weights_sha256());
    EXPECT_EQ(names(dynamic_cast<const Graph&>(again.module())), names(net));
    EXPECT_NE(message_of([&] {
                model.save(dir / "net.h5", {.keras_optimizer_state = KerasOptimizerState::tf2});
              }).find("Keras 2 may find the layers of functional in another order"),
              std::string::npos);
  }
}

// To Keras an attention always has several inputs, which a functional net gives it.
TEST(AttentionFile, OfASequentialIsOneOfAFunctionalNet) {
  const TempDir dir;
  Model model(std::make_unique<Sequential>(
                  TimeDistributed(Dense({.units = 2})),
                  Sequential(MultiHeadAttention({.num_heads = 1, .key_dim = 2, .use_causal_mask = true}),
                             Dense({.units = 3, .activation = Activation::tanh})),
                  MultiHeadAttention({.num_heads = 2, .key_dim = 1}), Flatten(), Dense({.units = 2})),
              {3, 2});
  model.compile({.optimizer = std::make_unique<Adam>(), .loss = make_loss("mse")});
  const Tensor x = random_normal({8, 3, 2}, {.seed = 1}), y = random_normal({8, 2}, {.seed = 2});
  model.train_on_batch(x, y);
  for (const std::string name : {"net.keras", "net.h5", "of_keras2.keras", "of_keras2.h5"}) {
    const bool is_of_keras2 = name.starts_with("of");
    model.save(dir / name, {.keras_optimizer_state =
                                is_of_keras2 ? KerasOptimizerState::tf2 : KerasOptimizerState::none});
    Model again = Model::load(dir / name);
    EXPECT_EQ(again.module().class_name(), "Functional");
    EXPECT_EQ(again.predict(x).to_vector<float>(), model.predict(x).to_vector<float>()) << name;
    again.load_weights(dir / name);
    EXPECT_EQ(again.weights_sha256(), model.weights_sha256());
  }
}

}  // namespace
}  // namespace ronde::test
