// Permute and RepeatVector; what Keras makes of the same numbers: keras_layers_test.cpp.
#include <ronde/nn/permute.h>
#include <ronde/nn/repeat_vector.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(Permute, TakesAxesByTheirNumbersFromOne) {
  const Tensor x = random_tensor({2, 3, 4, 5});
  const std::vector<double> values = x.to_vector<double>();
  Permute layer({3, 1, 2});
  const Tensor y = layer(x).value();
  ASSERT_EQ(y.shape(), (Shape{2, 5, 3, 4}));
  std::vector<double> expected;
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 5; ++c)
      for (std::size_t h = 0; h < 3; ++h)
        for (std::size_t w = 0; w < 4; ++w) expected.push_back(values[((n * 3 + h) * 4 + w) * 5 + c]);
  EXPECT_EQ(y.to_vector<double>(), expected);
  expect_module_gradients(layer, x);
  EXPECT_EQ(Permute({2, 1})(Tensor::zeros({0, 3, 4})).shape(), (Shape{0, 4, 3}));
  EXPECT_EQ(Permute({1})(random_tensor({2, 3})).value().to_vector<double>(),
            random_tensor({2, 3}).to_vector<double>());
}

TEST(Permute, NamesItselfInErrors) {
  Permute layer({2, 1});
  layer.set_name("turned");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 3}));
            }),
            "[turned] expects a batch of samples of 2 axes, got (1, 3)");
  for (const Shape& dims : {Shape{0, 1}, Shape{1, 1}, Shape{2}, Shape{1, 3}, Shape{-1}})
    EXPECT_THROW(Permute{dims}, UsageError) << to_string(dims);
  EXPECT_EQ(message_of([] { Permute({1, 3}); }), "[permute] dims must have each of 1 ... 2 once, got (1, 3)");
  EXPECT_EQ(message_of([] { Permute(Shape{}); }), "[permute] needs a dimension");
}

TEST(RepeatVector, MakesEqualSteps) {
  RepeatVector layer(3);
  const Tensor x = f64_tensor({2, 2}, {1, 2, 3, 4});
  const Tensor y = layer(x).value();
  EXPECT_EQ(y.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
  expect_module_gradients(layer, x);
  EXPECT_EQ(layer(Tensor::zeros({0, 2})).shape(), (Shape{0, 3, 2}));
}

TEST(RepeatVector, NamesItselfInErrors) {
  EXPECT_EQ(message_of([] {
              RepeatVector(3)(Tensor::zeros({1, 3, 4}));
            }),
            "[repeat_vector] expects vectors (n, features), got (1, 3, 4)");
  EXPECT_EQ(message_of([] { RepeatVector(0); }), "[repeat_vector] n must be in 1 ... 2147483647, got 0");
}

}  // namespace
}  // namespace ronde::test
