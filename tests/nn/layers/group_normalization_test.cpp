// GroupNormalization against its formula; its values are Keras' own in keras_layers_test.cpp.
#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/nn/group_normalization.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

/// Of one group of one sample after the other, element by element.
std::vector<double> normalised(const Tensor& x, std::int64_t groups, double epsilon) {
  const std::int64_t n = x.size(0), c = x.size(-1), positions = x.count() / (n * c), width = c / groups;
  std::vector<double> values = x.to_vector<double>();
  for (std::int64_t sample = 0; sample < n; ++sample)
    for (std::int64_t group = 0; group < groups; ++group) {
      std::vector<double*> members;
      for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t i = 0; i < width; ++i)
          members.push_back(
              &values[static_cast<std::size_t>((sample * positions + p) * c + group * width + i)]);
      const auto count = static_cast<double>(members.size());
      double mean = 0, variance = 0;
      for (const double* value : members) mean += *value / count;
      for (const double* value : members) variance += (*value - mean) * (*value - mean) / count;
      for (double* value : members) *value = (*value - mean) / std::sqrt(variance + epsilon);
    }
  return values;
}

TEST(GroupNormalization, NormalisesTheGroupsOfEachSample) {
  for (const Shape& shape : {Shape{3, 2, 3, 6}, Shape{2, 4, 6}, Shape{3, 6}, Shape{2, 1, 1, 6}})
    for (const std::int64_t groups : {1, 2, 3, 6}) {
      SCOPED_TRACE(cat(shape, " in ", groups));
      const Tensor x = random_tensor(shape, 1, -2, 2);
      GroupNormalization layer({.groups = groups, .epsilon = 0.125});
      layer.build(shape.tail(1), in_f64());
      expect_close(layer(x).value(), normalised(x, groups, 0.125), 1e-14, "new");
      randomize(layer);
      const Variable gamma = find_parameter(layer, "gamma").variable,
                     beta = find_parameter(layer, "beta").variable;
      expect_close(((layer(x) - beta) / gamma).value(), normalised(x, groups, 0.125), 1e-13, "scaled");
      expect_module_gradients(layer, x);
    }
}

TEST(GroupNormalization, HasTheWeightsThatAreAskedFor) {
  const Tensor x = random_tensor({2, 3, 2, 4});
  for (const bool scale : {false, true})
    for (const bool center : {false, true}) {
      GroupNormalization layer({.groups = 2, .center = center, .scale = scale});
      layer.build({3, 2, 4}, in_f64());
      EXPECT_EQ(layer.parameters().size(), std::size_t{scale} + std::size_t{center});
      randomize(layer);
      expect_module_gradients(layer, x);
    }
}

TEST(GroupNormalization, OfMinusOneGroupHasOneForEachChannel) {
  const Tensor x = random_tensor({2, 3, 2, 4});
  GroupNormalization each({.groups = -1}), four({.groups = 4});
  for (GroupNormalization* layer : {&each, &four}) layer->build({3, 2, 4}, in_f64());
  EXPECT_EQ(each(x).value().to_vector<double>(), four(x).value().to_vector<double>());
}

// Through the copies and sums that are for f32 alone.
TEST(GroupNormalization, OfF32IsThatOfF64) {
  for (const std::int64_t groups : {1, 4, 32}) {
    GroupNormalization single({.groups = groups}), precise({.groups = groups});
    single.build({9, 7, 64});
    precise.build({9, 7, 64}, in_f64());
    const Tensor x = random_tensor({3, 9, 7, 64}, 1, -2, 5);
    const Variable narrow = Variable::parameter(x.to(DType::f32).to(default_backend())),
                   wide = Variable::parameter(x);
    const Variable y = single(narrow), expected = precise(wide);
    expect_close(y.value(), expected.value().to_vector<double>(), 1e-5, "values");
    const Tensor seed = random_tensor(x.shape(), 2);
    y.backward(seed.to(DType::f32).to(default_backend()));
    expected.backward(seed);
    expect_close(narrow.grad(), wide.grad().to_vector<double>(), 1e-5, "gradient");
    for (const char* weight : {"gamma", "beta"})
      expect_close(find_parameter(single, weight).variable.grad(),
                   find_parameter(precise, weight).variable.grad().to_vector<double>(), 1e-4, weight);
  }
}

TEST(GroupNormalization, KnowsItsInputs) {
  GroupNormalization layer({.groups = 2, .name = "norm"});
  layer.build({3, 2, 4});
  EXPECT_EQ(layer(Tensor::zeros({0, 3, 2, 4})).shape(), (Shape{0, 3, 2, 4}));
  EXPECT_EQ(layer(Tensor::zeros({2, 5, 5, 4})).shape(), (Shape{2, 5, 5, 4}));
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({3, 2, 2, 6}));
            }),
            "[norm] expects 4 input channels, got 6");
  EXPECT_EQ(message_of([&] {
              GroupNormalization({.name = "norm"}).build({3, 2, 48});
            }),
            "[norm] 48 input channels cannot be split into 32 groups");
  EXPECT_EQ(message_of([&] { GroupNormalization().build({}); }),
            "[group_normalization] expects inputs of shape (n, ..., channels), got (1,)");
  for (const std::int64_t groups : {0, -2})
    EXPECT_THROW(GroupNormalization({.groups = groups}), UsageError) << groups;
  EXPECT_THROW(GroupNormalization({.epsilon = -1.0}), UsageError);
}

}  // namespace
}  // namespace ronde::test
