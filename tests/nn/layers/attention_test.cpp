// Attention and AdditiveAttention; what Keras makes of the same numbers: keras_joins_test.cpp.
#include <cmath>

#include <ronde/core/philox.h>
#include <ronde/nn/attention.h>

#include "nn/config_json.h"
#include "nn/self_attention.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

using Steps = std::vector<std::vector<double>>;

Steps steps_of_sample(const Tensor& x, std::int64_t n) {
  Steps steps;
  const double* at = x.data<double>() + n * x.size(1) * x.size(2);
  for (std::int64_t t = 0; t < x.size(1); ++t, at += x.size(2)) steps.emplace_back(at, at + x.size(2));
  return steps;
}

using Score = std::function<double(const std::vector<double>& query, const std::vector<double>& key)>;
using Counts = std::function<bool(std::size_t n, std::size_t query_step, std::size_t step)>;

/// Each step of the query takes from all for which `counts` holds.
std::vector<double> attended(const std::vector<Tensor>& inputs, const Score& score, const Counts& counts) {
  std::vector<double> result;
  for (std::int64_t n = 0; n < inputs[0].size(0); ++n) {
    const Steps query = steps_of_sample(inputs[0], n), value = steps_of_sample(inputs[1], n);
    const Steps key = steps_of_sample(inputs.back(), n);
    for (std::size_t i = 0; i < query.size(); ++i) {
      double total = 0.0;
      std::vector<double> average(value[0].size(), 0.0);
      for (std::size_t j = 0; j < value.size(); ++j) {
        if (!counts(static_cast<std::size_t>(n), i, j)) continue;
        const double weight = std::exp(score(query[i], key[j]));
        for (std::size_t e = 0; e < average.size(); ++e) average[e] += weight * value[j][e];
        total += weight;
      }
      for (const double sum : average) result.push_back(sum / total);
    }
  }
  return result;
}

double weight_of(const Module& layer, const char* name, std::size_t i = 0) {
  return find_parameter(layer, name).variable.value().to_vector<double>().at(i);
}

double score_of_product(const std::vector<double>& q, const std::vector<double>& k) {
  double sum = 0.0;
  for (std::size_t d = 0; d < q.size(); ++d) sum += q[d] * k[d];
  return sum;
}

bool all_count(std::size_t, std::size_t, std::size_t) {
  return true;
}

const std::vector<Tensor>& three_inputs() {
  static const std::vector<Tensor> inputs{random_tensor({2, 3, 4}, 1), random_tensor({2, 5, 2}, 2),
                                          random_tensor({2, 5, 4}, 3)};
  return inputs;
}

void expect_formula(Module& layer, const Score& score, const Counts& counts = all_count) {
  const std::vector<Tensor>& inputs = three_inputs();
  const Variables given(inputs.begin(), inputs.end());
  layer(given);
  randomize(layer);
  const Variable y = layer(given);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 2}));
  expect_close(y.value(), attended(inputs, score, counts), 1e-12, layer.class_name());
  expect_gradients([&](const Variables& v) { return layer(v); }, inputs);
}

TEST(Attention, IsTheNaiveFormula) {
  const auto is_before = [](std::size_t, std::size_t i, std::size_t j) { return j <= i; };
  Attention plain, causal({.use_causal_mask = true}), scaled({.use_scale = true});
  expect_formula(plain, score_of_product);
  expect_formula(causal, score_of_product, is_before);
  expect_formula(scaled, [&](const auto& q, const auto& k) {
    return weight_of(scaled, "scale") * score_of_product(q, k);
  });
  Attention sums({.use_scale = true, .score_mode = ScoreMode::concat});
  expect_formula(sums, [&](const auto& q, const auto& k) {
    double sum = 0.0;
    for (std::size_t d = 0; d < q.size(); ++d) sum += std::tanh(weight_of(sums, "scale") * (q[d] + k[d]));
    return weight_of(sums, "concat_score_weight") * sum;
  });
}

TEST(AdditiveAttention, IsTheNaiveFormula) {
  const auto score = [](const Module& layer, bool is_scaled) {
    return [&layer, is_scaled](const auto& q, const auto& k) {
      double sum = 0.0;
      for (std::size_t d = 0; d < q.size(); ++d)
        sum += std::tanh(q[d] + k[d]) * (is_scaled ? weight_of(layer, "scale", d) : 1.0);
      return sum;
    };
  };
  AdditiveAttention scaled, plain({.use_scale = false, .use_causal_mask = true});
  expect_formula(scaled, score(scaled, true));
  expect_formula(plain, score(plain, false),
                 [](std::size_t, std::size_t i, std::size_t j) { return j <= i; });
}

template <class Layer, class Options>
void expect_gradients_of_weights(const Options& options, std::size_t weights) {
  const Context contexts[]{{}, {.training = true, .seed = 4, .sample_keys = sample_keys_of({0, 0, 1, 0})}};
  for (const Context& context : contexts) {
    SelfAttention<Layer> net(options);
    net.build({4, 3}, in_f64());
    randomize(net);
    EXPECT_EQ(net.parameters().size(), weights);
    EXPECT_EQ(net(random_tensor({0, 4, 3})).shape(), (Shape{0, 4, 3}));
    expect_module_gradients(net, random_tensor({2, 4, 3}), context);
  }
}

TEST(Attention, GradientsOfItsWeights) {
  expect_gradients_of_weights<Attention>(AttentionOptions{.use_scale = true, .dropout = 0.4}, 1);
  expect_gradients_of_weights<Attention>(
      AttentionOptions{.use_scale = true, .score_mode = ScoreMode::concat, .use_causal_mask = true}, 2);
  expect_gradients_of_weights<AdditiveAttention>(AdditiveAttentionOptions{.dropout = 0.4}, 1);
}

Variable masked(const Tensor& x, const std::vector<double>& mask) {
  Variable result = x;
  result.set_mask(f64_tensor({x.size(0), x.size(1)}, mask).to(DType::f32));
  return result;
}

// The value's mask decides, not the key's; the query's makes zeros, and is the result's.
TEST(Attention, LeavesOutWhatMasksLeaveOut) {
  const std::vector<double> of_value{0, 1, 1, 0, 1, 1, 1, 0, 1, 0};
  const auto& [query, value, key] = std::tie(three_inputs()[0], three_inputs()[1], three_inputs()[2]);
  for (const bool is_causal : {false, true}) {
    Attention layer({.use_causal_mask = is_causal});
    const auto counts = [&](std::size_t n, std::size_t i, std::size_t j) {
      const bool is_there = of_value[n * 5 + j] != 0.0 && (!is_causal || j <= i);
      return is_there || (is_causal && n == 0 && i == 0);  // of no step that is left: as if all were
    };
    const Variable y = layer({masked(query, {1, 1, 0, 0, 1, 1}), masked(value, of_value),
                              masked(key, std::vector<double>(10, 0.0))});
    std::vector<double> expected = attended(three_inputs(), score_of_product, counts);
    for (const std::size_t zeros : {2, 3}) expected[2 * zeros] = expected[2 * zeros + 1] = 0.0;
    expect_close(y.value(), expected, 1e-6, "output");  // scores minus 1e9 have so many digits
    EXPECT_EQ(y.mask().to_vector<float>(), (std::vector<float>{1, 1, 0, 0, 1, 1}));
  }
}

TEST(Attention, DropsWeightsByTheSamplesKeys) {
  Attention layer({.dropout = 0.5, .name = "a"});
  const Tensor query = Tensor::zeros({2, 3, 1}, {.dtype = DType::f64, .backend = &backend("cpu")});
  const Tensor value = Tensor::full({2, 6, 1}, 1.0, query.options());
  layer({query, value});
  const Context training{.training = true, .seed = 9, .sample_keys = sample_keys_of({41, 3, 7, 2})};
  std::vector<double> expected(6, 0.0);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::uint64_t e = 0; e < 18; ++e) {  // (t, s) of a sample
      const Philox4 words = sample_bits(random_key(9, hash_name("")), n == 0 ? 41 : 7, n == 0 ? 3 : 2, e / 4);
      if (uniform_float(words[e % 4]) >= 0.5f) expected[n * 3 + e / 6] += 2.0 / 6.0;
    }
  expect_close(layer({query, value}, training).value(), expected, 1e-14, "means of the mask");
  expect_close(layer({query, value}).value(), std::vector<double>(6, 1.0), 1e-14, "nothing is dropped");
}

TEST(Attention, HasKerasWeightsAndFirstValues) {
  const Tensor x = random_tensor({1, 2, 6});
  const auto weights_of = [&](Module&& layer) {
    layer({x, x});
    std::string weights;
    for (const Parameter& weight : layer.parameters())
      weights += cat(weight.name, ' ', weight.variable.shape(), ' ');
    return weights;
  };
  EXPECT_EQ(weights_of(Attention()), "");
  EXPECT_EQ(weights_of(Attention({.use_scale = true, .score_mode = ScoreMode::concat})),
            "scale () concat_score_weight () ");
  EXPECT_EQ(weights_of(AdditiveAttention()), "scale (6,) ");
  Attention layer({.use_scale = true});
  layer({x, x});
  EXPECT_EQ(weight_of(layer, "scale"), 1.0);
  AdditiveAttention additive;
  additive({x, x});
  EXPECT_LE(std::abs(weight_of(additive, "scale")), std::sqrt(6.0 / 12.0));  // glorot_uniform's limit
  EXPECT_NE(weight_of(additive, "scale"), weight_of(additive, "scale", 1));
}

TEST(Attention, ErrorsNameTheLayerAndValues) {
  const Tensor x = random_tensor({2, 4, 3}), memory = random_tensor({2, 5, 2});
  const auto message = [](const Variables& inputs) {
    Attention layer({.name = "a"});
    const Variable zeros = random_tensor({2, 4, 3});
    layer({zeros, zeros});
    return message_of([&] { layer(inputs); });
  };
  EXPECT_EQ(message({x}), "[a] takes a query, a value and perhaps a key, got 1 input");
  EXPECT_EQ(message({x, x, x, x}), "[a] takes a query, a value and perhaps a key, got 4 inputs");
  EXPECT_EQ(message({x, memory}), "[a] expects a value of shape (2, 5, 3), got (2, 5, 2)");
  EXPECT_EQ(message({x, memory, memory}), "[a] expects a key of shape (2, 5, 3), got (2, 5, 2)");
  EXPECT_EQ(message({x, memory, x}), "[a] expects a key of shape (2, 5, 3), got (2, 4, 3)");
  EXPECT_EQ(message({x, random_tensor({3, 5, 3})}), "[a] expects a value of shape (2, 5, 3), got (3, 5, 3)");
  EXPECT_EQ(message({x, random_tensor({2, 3})}), "[a] expects sequences (n, steps, features), got (2, 3)");
  EXPECT_EQ(message_of([] {
              AdditiveAttention({.name = "b"})(random_tensor({2, 4, 3}));
            }),
            "[b] takes a query, a value and perhaps a key, got 1 input");
  EXPECT_EQ(message_of([] { Attention({.dropout = 1.0}); }), "[attention] dropout must be in [0, 1), got 1");
  EXPECT_EQ(message_of([] { Attention({.dropout = -0.5, .name = "a"}); }),
            "[a] dropout must be in [0, 1), got -0.5");
  EXPECT_EQ(message_of([] { AdditiveAttention({.dropout = 1.0}); }),
            "[additive_attention] dropout must be in [0, 1), got 1");
}

TEST(Attention, Config) {
  expect_config(Attention(), R"({"name": "attention", "trainable": true, "dtype": "float32", "dropout": 0.0,
                                 "use_scale": false})");
  expect_config(Attention({.use_scale = true, .score_mode = ScoreMode::concat, .dropout = 0.25, .name = "a"}),
                R"({"name": "a", "trainable": true, "dtype": "float32", "dropout": 0.25, "use_scale": true,
                    "score_mode": "concat"})");
  expect_config(AdditiveAttention({.use_scale = false, .dropout = 0.5}), R"({
    "name": "additive_attention", "trainable": true, "dtype": "float32", "dropout": 0.5, "use_scale": false})");
  EXPECT_TRUE(parse("Attention", R"({"seed": 3, "causal": false})")->left_out().empty());
  EXPECT_EQ(message_of([] { parse("Attention", R"({"name": "a", "score_mode": "cosine"})"); }),
            "[Attention \"a\"] score_mode: \"cosine\" is not supported, only dot and concat");
  EXPECT_EQ(message_of([] { parse("AdditiveAttention", R"({"name": "a", "causal": true})"); }),
            "[AdditiveAttention \"a\"] causal: true is not supported");
}

}  // namespace
}  // namespace ronde::test
