// Random graphs: whatever operations are combined, backward agrees with finite differences.
#include <gtest/gtest.h>

#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

// A stream of small numbers that is a function of its seed.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t limit) { return philox(seed_, {next_++, 0, 0, 0})[0] % limit; }

 private:
  std::uint64_t seed_;
  std::uint32_t next_ = 0;
};

constexpr std::int64_t kSide = 3;

// Smooth operations that map (3, 3) to (3, 3) and keep values of order one.
using Step = Variable (*)(const Variable& a, const Variable& b);
const Step kSteps[] = {
    [](const Variable& a, const Variable& b) { return tanh(a + b); },
    [](const Variable& a, const Variable& b) { return a * b; },
    [](const Variable& a, const Variable& b) { return a - 0.5 * b; },
    [](const Variable& a, const Variable& b) { return a / (square(b) + 2.0); },
    [](const Variable& a, const Variable& b) { return tanh(matmul(a, b)); },
    [](const Variable& a, const Variable& b) {
      return dense(softmax(a), b, slice(reshape(b, {9}), 0, 2, 5));
    },
    [](const Variable& a, const Variable& b) {
      return permute(a, {1, 0}) * sigmoid(b);
    },
    [](const Variable& a, const Variable& b) {
      return concat({slice(a, 0, 1, 3), slice(b, 0, 0, 1)}, 0) * gelu(a);
    },
    [](const Variable& a, const Variable& b) {
      return sum(a, {.axes = {0}}) * 0.3 + mean(b, {.axes = {1}, .keep_dims = true});
    },
    [](const Variable& a, const Variable& b) {
      return broadcast_to(mean(a, {.axes = {1}, .keep_dims = true}), {kSide, kSide}) + silu(b);
    },
    [](const Variable& a, const Variable& b) { return log_softmax(a) * 0.2 + exp(-square(b)); },
    [](const Variable& a, const Variable& b) {
      const Variable y = conv2d(reshape(a, {1, kSide, kSide, 1}), reshape(b, {1, kSide, kSide, 1}), {},
                                {.padding = Padding::same});
      return tanh(reshape(y, {kSide, kSide}));
    },
    [](const Variable& a, const Variable& b) {
      BatchStatistics statistics;
      return batch_norm(a, slice(reshape(b, {9}), 0, 0, 3), {}, statistics, {.epsilon = 0.5});
    },
    [](const Variable& a, const Variable& b) {
      return a + reshape(softmax_cross_entropy(b, i32_tensor({2, 0, 1}), 0.1), {kSide, 1});
    },
};

Variable random_graph(std::uint64_t seed, const Variables& leaves) {
  Choices choices(seed);
  Variables pool = leaves;
  for (int step = 0; step < 12; ++step) {
    const Variable& a = pool[choices.below(pool.size())];
    const Variable& b = pool[choices.below(pool.size())];
    pool.push_back(kSteps[choices.below(std::size(kSteps))](a, b));
  }
  // Late results first, but something of all, so that no part of the graph is dead.
  Variable y = pool.back();
  for (std::size_t i = leaves.size(); i + 1 < pool.size(); ++i) y = y + 0.3 * pool[i];
  return y;
}

class RandomGraph : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraph, GradientsAreRight) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  std::vector<Tensor> leaves;
  for (std::uint64_t i = 0; i < 4; ++i) leaves.push_back(random_tensor({kSide, kSide}, 100 * seed + i));
  expect_gradients(
      [&](const Variables& v) {
        // A leaf that no step picked still belongs to the result.
        Variable y = random_graph(seed, v);
        for (const Variable& leaf : v) y = y + 0.1 * leaf;
        return y;
      },
      leaves, {.tolerance = 1e-5});
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraph, ::testing::Range(0, 20));

}  // namespace
}  // namespace ronde::test
