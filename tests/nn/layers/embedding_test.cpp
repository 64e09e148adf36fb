#include <ronde/nn/embedding.h>

#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(Embedding, HasKerasWeightAndShapes) {
  Embedding layer({.input_dim = 7, .output_dim = 3});
  layer.build({5}, in_f64());
  EXPECT_EQ(layer.output_shape(), (Shape{1, 5, 3}));
  const std::vector<Parameter> weights = layer.parameters();
  ASSERT_EQ(weights.size(), 1u);
  EXPECT_EQ(weights[0].name, "embeddings");
  EXPECT_EQ(weights[0].variable.shape(), (Shape{7, 3}));
  EXPECT_TRUE(weights[0].sparse_gradient);
  for (const double w : weights[0].variable.value().to_vector<double>()) {  // Keras' "uniform"
    EXPECT_LE(std::abs(w), 0.05);
    EXPECT_NE(w, 0.0);
  }
}

TEST(Embedding, TakesWholeNumbersOfAnyType) {
  Embedding layer({.input_dim = 4, .output_dim = 2});
  layer.build({3}, in_f64());
  const std::vector<double> table = find_parameter(layer, "embeddings").variable.value().to_vector<double>();
  const std::vector<double> expected{table[6], table[7], table[0], table[1], table[6], table[7]};
  Backend* cpu = &backend("cpu");
  EXPECT_EQ(layer(f64_tensor({1, 3}, {3, 0, 3})).value().to_vector<double>(), expected);
  EXPECT_EQ(layer(Tensor::from<float>({1, 3}, {3, 0, 3}, cpu)).value().to_vector<double>(), expected);
  EXPECT_EQ(layer(Tensor::from<std::int32_t>({1, 3}, {3, 0, 3}, cpu)).value().to_vector<double>(), expected);
  EXPECT_EQ(layer(Tensor::from<std::int64_t>({1, 3}, {3, 0, 3}, cpu)).value().to_vector<double>(), expected);
}

TEST(Embedding, RefusesWhatIsNoRow) {
  EXPECT_THROW(Embedding({.input_dim = 0, .output_dim = 2}), UsageError);
  EXPECT_THROW(Embedding({.input_dim = 3, .output_dim = 0}), UsageError);
  Embedding layer({.input_dim = 4, .output_dim = 2});
  layer.build({1}, in_f64());
  const auto complaint = [&](double index) {
    return message_of([&] { layer(f64_tensor({1, 1}, {index})); });
  };
  EXPECT_EQ(complaint(4), "[embedding] index 4 at position 0, expected 0 to 3");
  EXPECT_EQ(complaint(-1), "[embedding] index -1 at position 0, expected 0 to 3");
  EXPECT_EQ(complaint(3e9), "[embedding] index 3e+09 at position 0, expected 0 to 3");
  EXPECT_EQ(complaint(std::nan("")), "[embedding] index nan at position 0, expected 0 to 3");
  EXPECT_THROW(layer(Tensor::from<float>({1, 1}, {std::nanf("")}, &backend("cpu"))), Error);
  EXPECT_THROW(layer(Tensor::from<std::int32_t>({1, 1}, {4}, &backend("cpu"))), Error);
  constexpr std::int64_t kFar = (std::int64_t{1} << 32) + 3;  // 3 in its lower half
  for (const std::int64_t index : {kFar, -kFar, std::int64_t{4}})
    EXPECT_EQ(message_of([&] {
                layer(Tensor::from<std::int64_t>({1, 1}, {index}, &backend("cpu")));
              }),
              cat("[embedding] index ", index, " at position 0, expected 0 to 3"));
  Embedding large(
      {.input_dim = (1 << 24) + 1, .output_dim = 1, .embeddings_initializer = Initializer::zeros});
  EXPECT_THROW(large(Tensor::zeros({1, 1})), UsageError);
}

TEST(GlobalAveragePooling1D, IsTheMeanOverTheSteps) {
  GlobalAveragePooling1D layer;
  layer.build({3, 2}, in_f64());
  EXPECT_EQ(layer(f64_tensor({1, 3, 2}, {1, 10, 2, 20, 6, 30})).value().to_vector<double>(),
            (std::vector<double>{3, 20}));
  expect_module_gradients(layer, random_tensor({2, 3, 2}));
  GlobalAveragePooling1D keeping({.keepdims = true});
  const Variable kept = keeping(f64_tensor({1, 3, 2}, {1, 10, 2, 20, 6, 30}));
  EXPECT_EQ(kept.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(kept.value().to_vector<double>(), (std::vector<double>{3, 20}));
  EXPECT_EQ(message_of([&] {
              layer(f64_tensor({2, 2}, {1, 2, 3, 4}));
            }),
            "[global_average_pooling1d] expects sequences (n, steps, features), got (2, 2)");
}

// Which of two words stands in a text decides its class.
TEST(Embedding, TrainsATextNet) {
  Sequential net(Embedding({.input_dim = 10, .output_dim = 4}), GlobalAveragePooling1D(),
                 Dense({.units = 1}));
  net.build({3}, in_f64());
  ParameterArena arena(net);
  SGD sgd({.learning_rate = 0.2});
  sgd.attach(arena);
  const Tensor words = f64_tensor({4, 3}, {1, 5, 7, 2, 5, 7, 8, 1, 9, 9, 2, 3});
  const Tensor target = f64_tensor({4, 1}, {1, -1, 1, -1});
  double first = 0.0, last = 0.0;
  for (int step = 0; step < 400; ++step) {
    arena.zero_gradients();
    const Variable loss = sum(squared_error(net(words), target));
    loss.backward();
    last = loss.item();
    if (step == 0) first = last;
    sgd.step(0.25);
  }
  EXPECT_LT(last, 0.01 * first);
  const auto& segments = arena.segments();
  EXPECT_TRUE(segments.back().sparse);  // the first layer comes last in the arena
  EXPECT_FALSE(segments.front().sparse);
}

}  // namespace
}  // namespace ronde::test
