// What a graph keeps alive, counted in bytes by a backend that watches its allocations.
#include <gtest/gtest.h>

#include <ronde/core/ops.h>

#include "support/counting_backend.h"
#include "support/gradient_check.h"

namespace ronde {
namespace {

constexpr std::int64_t kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(double);

class GraphMemory : public ::testing::Test {
 protected:
  Variable leaf(const Shape& shape = {kCount}) {
    return Variable::parameter(Tensor::full(shape, 0.5, options()));
  }
  TensorOptions options() { return {.dtype = DType::f64, .backend = &backend_}; }
  // Tensors of kCount elements that are alive.
  std::size_t tensors() const { return backend_.live / kBytes; }

  test::CountingBackend backend_;
};

TEST_F(GraphMemory, ValuesThatNoGradientReadsAreFreed) {
  const Variable x = leaf();
  const Variable y = (x + 1.0) * 2.0 - x;
  EXPECT_EQ(tensors(), 2u) << "x and y";
}

TEST_F(GraphMemory, ReluKeepsItsResultOnly) {
  const Variable x = leaf();
  const Variable y = relu(x + 1.0);
  EXPECT_EQ(tensors(), 2u) << "x and y";
  const Variable z = y + 1.0;
  EXPECT_EQ(tensors(), 3u) << "x, y and z";
}

TEST_F(GraphMemory, ReluOfASumKeepsItsResultOnly) {
  const Variable x = leaf();
  const Variable y = add_relu(x + 1.0, x * 2.0);
  EXPECT_EQ(tensors(), 2u) << "x and y";
}

TEST_F(GraphMemory, ProductKeepsOnlyWhatTheOtherGradientReads) {
  const Variable x = leaf();
  Variable y = x * Variable(Tensor::full({kCount}, 3.0, options()));
  EXPECT_EQ(tensors(), 3u) << "x, the constant and y";
  y = (x + 1.0) * Variable(Tensor::full({kCount}, 3.0, options()));
  EXPECT_EQ(tensors(), 3u) << "x, the constant and y, but not x + 1";
}

TEST_F(GraphMemory, FirstLayerKeepsNoCopyOfItsWeights) {
  // conv2d and dense need the weight only for the gradient of their input.
  const Variable images(Tensor::full({10, 10, 10, 1}, 1.0, options()));
  Variable kernel = leaf({100, 1, 1, 1});
  Variable y = conv2d(images, kernel, {}, {.stride = {10, 10}});
  const std::size_t before = backend_.live;
  kernel = {};
  EXPECT_EQ(backend_.live, before) << "the leaf itself waits for its gradient";
  sum(y).backward();
  y = {};
  EXPECT_EQ(tensors(), 1u) << "the images";
}

TEST_F(GraphMemory, MaxPoolKeepsIndicesOnly) {
  const Variable x = leaf({1, 10, 10, 10});
  const Variable y = max_pool2d(x + 1.0);
  EXPECT_EQ(backend_.live, kBytes + kBytes / 4 + kBytes / 4 / sizeof(double)) << "x, y and a byte per window";
}

TEST_F(GraphMemory, BackwardFreesAsItGoes) {
  Variable x = leaf();
  std::size_t at_end_of_walk = 0;
  x.on_grad_ready([&](const Variable&) { at_end_of_walk = tensors(); });
  Variable y = x;
  for (int i = 0; i < 50; ++i) y = exp(y * 0.1);
  EXPECT_EQ(tensors(), 51u) << "x and fifty results of exp";
  y = sum(y);
  y.backward();
  EXPECT_EQ(at_end_of_walk, 2u) << "x and its gradient";
  EXPECT_EQ(tensors(), 2u);
}

TEST_F(GraphMemory, BackwardWritesOverGradientsThatNobodyElseSees) {
  const Variable x = leaf({10, 100});
  const Tensor keys = Tensor::zeros({10, 2}, {.dtype = DType::i64, .backend = &backend_});
  BatchStatistics statistics;
  const Variable y =
      tanh(dropout(batch_norm(sin(x * 1.0), {}, {}, statistics, {}) * 3.0, keys, {.rate = 0.5}));
  const Tensor seed = Tensor::full({10, 100}, 1.0, options());
  const std::size_t before = tensors();
  EXPECT_EQ(before, 5u) << "x, what sin and the norm are of, y and seed";
  backend_.most = 0;
  y.backward(seed);
  EXPECT_EQ(backend_.most / kBytes, before + 1) << "of all gradients one was there at a time";
}

TEST_F(GraphMemory, NothingIsKeptWithoutRecording) {
  const NoGrad no_grad;
  const Variable x = leaf();
  const Variable y = exp(exp(exp(x)));
  EXPECT_EQ(tensors(), 2u) << "x and y";
}

// Results remember their logits, but not what those were made of.
TEST_F(GraphMemory, ChainsOfWhatRemembersItsInputKeepTwoWithoutRecording) {
  const Variable parameter = leaf({1, kCount});
  const NoGrad no_grad;
  for (const auto& f : {softmax, sigmoid}) {
    Variable x = parameter;
    for (int i = 0; i < 5; ++i) x = f(x);
    EXPECT_EQ(tensors(), 3u) << "the parameter, x and its logits";
    EXPECT_TRUE((softmax_input(x).defined() ? softmax_input(x) : sigmoid_input(x)).defined());
  }
  Variable rows = parameter;
  for (int i = 0; i < 5; ++i) rows = join_rows({rows});
  EXPECT_EQ(tensors(), 3u) << "the parameter, rows and their parts";
  for (int i = 0; i < 5; ++i) rows = join_rows({sigmoid(rows)});
  EXPECT_EQ(tensors(), 4u) << "the parameter, rows, their parts and the logits of those";
  EXPECT_TRUE(sigmoid_input(split_rows(rows, {{kCount}}).front()).defined());
}

TEST_F(GraphMemory, LogitsThatAreRememberedWithoutRecordingKeepNoGraph) {
  const Variable x = leaf();
  Variable logits = sin(sin(x));
  const NoGrad no_grad;
  const Variable y = sigmoid(logits);
  EXPECT_EQ(tensors(), 4u) << "x, its sine, the logits and y";
  logits = {};
  EXPECT_EQ(tensors(), 3u) << "x, the logits and y";
  EXPECT_FALSE(sigmoid_input(y).requires_grad());
}

TEST_F(GraphMemory, BoundGradientsAreWrittenInPlace) {
  // A product of matrices is written straight into the arena: no other tensor of that size is ever needed.
  Variable w = leaf({10, 100});
  const Tensor values = Tensor::empty({kCount}, options()), gradients = Tensor::empty({kCount}, options());
  w.bind(values.view(0, {10, 100}), gradients.view(0, {10, 100}));
  const Variable x(Tensor::full({1, 10}, 1.0, options()));
  std::size_t at_hook = 0;
  w.on_grad_ready([&](const Variable&) { at_hook = tensors(); });
  sum(matmul(x, w)).backward();
  EXPECT_EQ(at_hook, 2u) << "values and gradients";
  EXPECT_EQ(gradients.to_vector<double>(), std::vector<double>(kCount, 1.0));
}

}  // namespace
}  // namespace ronde
