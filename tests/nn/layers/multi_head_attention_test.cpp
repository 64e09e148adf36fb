#include <cmath>
#include <numeric>

#include <ronde/core/philox.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/sequential.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

/// A step of a head: x (features) by kernel (features, heads, size) and bias (heads, size).
std::vector<double> projected(const Module& layer, const std::string& part, const double* x,
                              std::int64_t head) {
  const Tensor kernel = find_parameter(layer, part + "/kernel").variable.value();
  const Tensor bias = find_parameter(layer, part + "/bias").variable.value();
  const std::int64_t features = kernel.size(0), heads = kernel.size(1), size = kernel.size(2);
  std::vector<double> y;
  for (std::int64_t k = 0; k < size; ++k) {
    y.push_back(bias.data<double>()[head * size + k]);
    for (std::int64_t d = 0; d < features; ++d)
      y.back() += x[d] * kernel.data<double>()[(d * heads + head) * size + k];
  }
  return y;
}

TEST(MultiHeadAttention, IsTheNaiveFormula) {
  MultiHeadAttention layer({.num_heads = 3, .key_dim = 2, .value_dim = 4, .use_causal_mask = true});
  const Tensor x = random_tensor({2, 5, 3}, 1), memory = random_tensor({2, 4, 6}, 2);
  layer({x, memory});
  randomize(layer);
  const Tensor kernel = find_parameter(layer, "attention_output/kernel").variable.value();  // (3, 4, 3)
  std::vector<double> expected;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t i = 0; i < 5; ++i) {
      std::vector<double> y =
          find_parameter(layer, "attention_output/bias").variable.value().to_vector<double>();
      for (std::int64_t head = 0; head < 3; ++head) {
        const std::vector<double> q = projected(layer, "query", x.data<double>() + (n * 5 + i) * 3, head);
        double total = 0.0;
        std::vector<double> average(4, 0.0);
        for (std::int64_t j = 0; j <= std::min<std::int64_t>(i, 3); ++j) {
          const double* step = memory.data<double>() + (n * 4 + j) * 6;
          const std::vector<double> k = projected(layer, "key", step, head);
          const double weight = std::exp((q[0] * k[0] + q[1] * k[1]) / std::sqrt(2.0));
          const std::vector<double> v = projected(layer, "value", step, head);
          for (std::size_t e = 0; e < 4; ++e) average[e] += weight * v[e];
          total += weight;
        }
        for (std::size_t e = 0; e < 4; ++e)
          for (std::size_t d = 0; d < 3; ++d)
            y[d] +=
                average[e] / total * kernel.data<double>()[(static_cast<std::size_t>(head) * 4 + e) * 3 + d];
      }
      expected.insert(expected.end(), y.begin(), y.end());
    }
  expect_close(layer({x, memory}).value(), expected, 1e-12, "output");
}

TEST(MultiHeadAttention, Gradients) {
  MultiHeadAttention within({.num_heads = 2, .key_dim = 3, .use_causal_mask = true});
  within.build({4, 3}, in_f64());
  randomize(within);
  expect_module_gradients(within, random_tensor({2, 4, 3}));
  expect_gradients([&](const Variables& v) { return within(v[0]); }, {random_tensor({2, 4, 3})});
  expect_gradients([&](const Variables& v) { return within(v[0]); }, {random_tensor({0, 4, 3})});
  MultiHeadAttention across({.num_heads = 2, .key_dim = 2, .value_dim = 1, .output_shape = {2, 2}});
  const std::vector<Tensor> inputs{random_tensor({2, 3, 4}, 1), random_tensor({2, 5, 2}, 2),
                                   random_tensor({2, 5, 3}, 3)};
  EXPECT_EQ(across({inputs[0], inputs[1], inputs[2]}).shape(), (Shape{2, 3, 2, 2}));
  expect_gradients([&](const Variables& v) { return across(v); }, inputs);
}

TEST(MultiHeadAttention, AValueThatIsTheQueryIsSelfAttention) {
  MultiHeadAttention layer({.num_heads = 2, .key_dim = 3});
  const Tensor x = random_tensor({2, 4, 3});
  const std::vector<double> y = layer(x).value().to_vector<double>();
  EXPECT_EQ(layer({x, x}).value().to_vector<double>(), y);
  EXPECT_EQ(layer({x, x, x}).value().to_vector<double>(), y);
}

// A step takes from those before it alone, also where there are more of them than the net was built for.
TEST(MultiHeadAttention, TheCausalMaskHidesWhatComesLater) {
  MultiHeadAttention layer({.num_heads = 2, .key_dim = 3, .use_causal_mask = true});
  layer.build({4, 3}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({2, 6, 3});
  const Tensor whole = layer(x).value();
  for (const std::int64_t steps : {1, 4, 5})
    expect_close(layer(x.slice(1, 0, steps)).value(), whole.slice(1, 0, steps).to_vector<double>(), 1e-14,
                 "the first steps");
}

// With equal weights and values of 1 a result is the mean of what the mask has for its step.
TEST(MultiHeadAttention, DropsWeightsByTheSamplesKeys) {
  Sequential net(MultiHeadAttention({.num_heads = 2, .key_dim = 1, .dropout = 0.5, .use_bias = false}));
  net.build({6, 1}, in_f64());
  for (Parameter& weight : net.parameters())
    weight.variable.value().fill(weight.name.find("/query/") == std::string::npos ? 1.0 : 0.0);
  const Tensor x = Tensor::full({2, 6, 1}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  const Tensor y =
      net(x, {.training = true, .seed = 9, .sample_keys = sample_keys_of({41, 3, 7, 2})}).value();
  std::vector<double> expected(12, 0.0);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::uint64_t e = 0; e < 72; ++e) {  // (heads, t, s) of a sample
      const Philox4 words = sample_bits(random_key(9, hash_name("multi_head_attention")), n == 0 ? 41 : 7,
                                        n == 0 ? 3 : 2, e / 4);
      if (uniform_float(words[e % 4]) >= 0.5f) expected[n * 6 + e / 6 % 6] += 2.0 / 6.0;
    }
  expect_close(y, expected, 1e-14, "means of the mask");
  expect_close(net(x).value(), std::vector<double>(12, 2.0), 1e-14, "nothing is dropped outside training");
  MultiHeadAttention layer({.num_heads = 2, .key_dim = 2, .dropout = 0.4});
  layer.build({4, 3}, in_f64());
  randomize(layer);
  expect_module_gradients(layer, random_tensor({2, 4, 3}),
                          {.training = true, .seed = 4, .sample_keys = sample_keys_of({0, 0, 1, 0})});
}

TEST(MultiHeadAttention, HasKerasWeightsAndFirstValues) {
  MultiHeadAttention layer({.num_heads = 4, .key_dim = 8, .value_dim = 5, .name = "a"});
  layer({random_tensor({1, 3, 6}), random_tensor({1, 2, 7}), random_tensor({1, 2, 9})});
  std::vector<std::string> weights;
  for (const Parameter& weight : layer.parameters())
    weights.push_back(cat(weight.name, ' ', weight.variable.shape()));
  EXPECT_EQ(weights,
            (std::vector<std::string>{"query/kernel (6, 4, 8)", "query/bias (4, 8)", "key/kernel (9, 4, 8)",
                                      "key/bias (4, 8)", "value/kernel (7, 4, 5)", "value/bias (4, 5)",
                                      "attention_output/kernel (4, 5, 6)", "attention_output/bias (6,)"}));
  const double limit = std::sqrt(6.0 / (6 * 4 + 6 * 8));  // Keras takes the first axis for a field
  double largest = 0.0;
  for (const double value : find_parameter(layer, "query/kernel").variable.value().to_vector<double>())
    largest = std::max(largest, std::abs(value));
  EXPECT_LE(largest, limit);
  EXPECT_GE(largest, 0.9 * limit);
}

TEST(MultiHeadAttention, RegularizersAreThoseOfEachPart) {
  MultiHeadAttention layer({.num_heads = 1,
                            .key_dim = 2,
                            .kernel_regularizer = Regularizer::l2(0.1),
                            .bias_regularizer = Regularizer::l1(0.2)});
  layer.build({2, 2}, in_f64());
  for (const Parameter& weight : layer.parameters())
    EXPECT_EQ(
        to_json(weight.regularizer.config()),
        to_json((weight.name.ends_with("kernel") ? Regularizer::l2(0.1) : Regularizer::l1(0.2)).config()));
}

TEST(MultiHeadAttention, ErrorsNameTheLayerAndValues) {
  EXPECT_EQ(message_of([] { MultiHeadAttention({.num_heads = 2, .name = "a"}); }),
            "[a] num_heads, key_dim, value_dim and output_shape must be positive, got (2, 0, 0) and ()");
  EXPECT_EQ(
      message_of([] {
        MultiHeadAttention({.num_heads = 2, .key_dim = 3, .output_shape = {2, 0}});
      }),
      "[multi_head_attention] num_heads, key_dim, value_dim and output_shape must be positive, got (2, 3, 3) "
      "and (2, 0)");
  EXPECT_EQ(message_of([] { MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = 1.0}); }),
            "[multi_head_attention] dropout must be in [0, 1), got 1");
  MultiHeadAttention flat({.num_heads = 2, .key_dim = 3});
  EXPECT_EQ(message_of([&] { flat.build({4}); }),
            "[multi_head_attention] expects sequences (n, steps, features), got (1, 4)");
  MultiHeadAttention layer({.num_heads = 2, .key_dim = 3});
  const Tensor x = random_tensor({2, 4, 3}), memory = random_tensor({2, 5, 2});
  layer({x, memory});
  const auto message = [&](const Variables& inputs) { return message_of([&] { layer(inputs); }); };
  EXPECT_EQ(message({x, x}), "[multi_head_attention] expects a value of shape (2, 4, 2), got (2, 4, 3)");
  EXPECT_EQ(message({memory, memory}),
            "[multi_head_attention] expects a query of shape (2, 5, 3), got (2, 5, 2)");
  EXPECT_EQ(message({x, random_tensor({3, 5, 2})}),
            "[multi_head_attention] expects a value of shape (2, 5, 2), got (3, 5, 2)");
  EXPECT_EQ(message({x, memory, random_tensor({2, 6, 2})}),
            "[multi_head_attention] expects a key of shape (2, 5, 2), got (2, 6, 2)");
  EXPECT_EQ(message({x, memory, memory, memory}),
            "[multi_head_attention] takes a query, a value and a key, got 4 inputs");
  EXPECT_EQ(message_of([&] { layer(x); }),
            "[multi_head_attention] expects a value of shape (2, 4, 2), got (2, 4, 3)");
}

TEST(MultiHeadAttention, Config) {
  expect_config(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .name = "a"}), R"({
    "name": "a", "trainable": true, "dtype": "float32", "num_heads": 2, "key_dim": 3, "value_dim": 3,
    "dropout": 0.0, "use_bias": true, "output_shape": null, "attention_axes": null,
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Zeros", "config": {}}})");
  expect_config(MultiHeadAttention({.num_heads = 2,
                                    .key_dim = 3,
                                    .value_dim = 4,
                                    .dropout = 0.25,
                                    .use_bias = false,
                                    .output_shape = {5},
                                    .kernel_initializer = Initializer::he_normal,
                                    .bias_initializer = Initializer::ones,
                                    .kernel_regularizer = Regularizer::l2(0.5),
                                    .name = "a"}),
                R"({
    "name": "a", "trainable": true, "dtype": "float32", "num_heads": 2, "key_dim": 3, "value_dim": 4,
    "dropout": 0.25, "use_bias": false, "output_shape": [5], "attention_axes": null,
    "kernel_initializer": {"class_name": "HeNormal", "config": {"seed": null}},
    "bias_initializer": {"class_name": "Ones", "config": {}},
    "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.5}}})");
  const auto read =
      parse("MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3, "output_shape": 5, "seed": 3,
    "attention_axes": [1], "sliding_window": null, "use_gate": false, "flash_attention": false,
    "query_shape": [null, 4, 3]})");
  EXPECT_EQ(dynamic_cast<const MultiHeadAttention&>(*read).options().output_shape, Shape{5});
  EXPECT_TRUE(read->left_out().empty());
}

TEST(MultiHeadAttention, RefusesWhatAFileMayAskForAndIsNotComputed) {
  const auto message = [](const std::string& entry) {
    const std::string text = cat(R"({"name": "a", "num_heads": 2, "key_dim": 3, )", entry, "}");
    EXPECT_THROW(parse("MultiHeadAttention", text), InputError);
    return message_of([&] { parse("MultiHeadAttention", text); });
  };
  const std::string layer = "[MultiHeadAttention \"a\"] ";
  EXPECT_EQ(message(R"("attention_axes": [1, 2])"),
            layer + "attention_axes: (1, 2) is not supported, only (1,), the steps");
  EXPECT_EQ(message(R"("attention_axes": 2)"),
            layer + "attention_axes: (2,) is not supported, only (1,), the steps");
  EXPECT_EQ(message(R"("flash_attention": true)"), layer + "flash_attention: true is not supported");
  EXPECT_EQ(message(R"("use_gate": true)"), layer + "use_gate: true is not supported");
  EXPECT_EQ(message(R"("sliding_window": 4)"), layer + "sliding_window: 4 is not supported");
  EXPECT_EQ(message(R"("output_shape": [1, 1, 1, 1, 1, 1, 1])"),
            layer + "output_shape: at most 6 extents are supported, found 7");
  EXPECT_EQ(
      message(R"("value_dim": 0)"),
      "[multi_head_attention] num_heads, key_dim, value_dim and output_shape must be positive, got (2, 3, 0) "
      "and ()");
}

}  // namespace
}  // namespace ronde::test
