// Layers of several inputs against what real Keras made of the same inputs and weights:
// tests/golden/make_attention.py.
#include <cmath>

#include <ronde/nn/attention_layer.h>
#include <ronde/nn/masking.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

Variable called(Module& layer, const Variables& inputs) {
  return inputs.size() == 1 ? layer(inputs.front()) : layer(inputs);
}

/// Behind a Masking each, and zeros where the query's mask leaves steps out.
Variable called_masked(Module& layer, Variables inputs) {
  for (Variable& x : inputs) x = Masking()(x);
  const Variable y = called(layer, inputs);
  const Tensor mask = inputs.front().mask();
  EXPECT_TRUE(y.mask().shares_storage_with(mask));
  return y * Variable(mask.to(y.dtype()).reshape({y.size(0), y.size(1), 1}));
}

/// Of an attention Keras 3 rounds 1 / sqrt(key_dim) to float.
double tolerance_of(const nlohmann::json& config, bool is_keras3) {
  const int key_dim = config.value("key_dim", 1);
  return is_keras3 && key_dim != 1 && key_dim != 4 ? 5e-7 : 1e-11;
}

void expect_what_keras_gives(const nlohmann::json& golden, bool is_keras3) {
  const std::string config = golden.at("config").dump();
  const std::string class_name = golden.at("class_name").get<std::string>();
  SCOPED_TRACE(class_name + config);
  const double tolerance = tolerance_of(golden.at("config"), is_keras3);
  const auto layer = parse(class_name, config);
  if (auto* attention = dynamic_cast<AttentionLayer*>(layer.get()))
    attention->set_use_causal_mask(golden.at("use_causal_mask").get<bool>());
  Variables inputs;
  for (const nlohmann::json& x : golden.at("inputs")) inputs.push_back(Variable::parameter(golden_tensor(x)));
  called(*layer, inputs);
  const std::vector<Parameter> weights = layer->parameters();
  ASSERT_EQ(weights.size(), golden.at("weights").size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    Variable(weights[i].variable).assign(golden_tensor(golden.at("weights")[i]));
  const Variable y = golden.at("masked").get<bool>() ? called_masked(*layer, inputs) : called(*layer, inputs);
  const Tensor expected = golden_tensor(golden.at("y"));
  ASSERT_EQ(y.shape(), expected.shape());
  expect_close(y.value(), expected.to_vector<double>(), tolerance, "output");
  Tensor seed = Tensor::empty_like(y.value());
  for (std::int64_t i = 0; i < seed.count(); ++i)
    seed.data<double>()[i] = std::cos(0.3 * static_cast<double>(i));
  y.backward(seed);
  Variables all = inputs;
  for (const Parameter& weight : weights) all.push_back(weight.variable);
  ASSERT_EQ(all.size(), golden.at("gradients").size());
  for (std::size_t i = 0; i < all.size(); ++i)
    expect_close(all[i].grad(), golden.at("gradients")[i].get<std::vector<double>>(), tolerance,
                 cat("gradient ", i));
}

TEST(KerasJoins, GiveWhatKerasGives) {
  for (const char* version : {"2.15.0", "3.15.1"}) {
    const nlohmann::json all = read_golden(cat("attention_keras", version, ".json"));
    ASSERT_EQ(all.size(), 56u);
    for (const nlohmann::json& golden : all) expect_what_keras_gives(golden, *version == '3');
  }
}

}  // namespace
}  // namespace ronde::test
