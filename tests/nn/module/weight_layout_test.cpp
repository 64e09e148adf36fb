#include <ronde/nn/weight_layout.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

Parameter parameter(const Shape& shape, WeightLayout layout, std::int64_t multiplier = 1) {
  return {.name = "layer/kernel",
          .variable = Variable::parameter(random_tensor(shape)),
          .layout = layout,
          .depth_multiplier = multiplier};
}

double at(const Tensor& t, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return t.slice(0, a, a + 1).slice(1, b, b + 1).slice(2, c, c + 1).slice(3, d, d + 1).contiguous().item();
}

TEST(WeightLayout, ConvolutionIsOhwiHereAndHwioInFiles) {
  const Parameter p = parameter({5, 2, 3, 4}, WeightLayout::conv);
  const Tensor keras = to_keras_layout(p);
  ASSERT_EQ(keras.shape(), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(keras.shape(), keras_shape(p));
  EXPECT_EQ(at(keras, 1, 2, 3, 4), at(p.variable.value(), 4, 1, 2, 3));
}

TEST(WeightLayout, DepthwiseSplitsChannelsAndMultiplier) {
  const Parameter p = parameter({6, 2, 5, 1}, WeightLayout::depthwise, 2);
  const Tensor keras = to_keras_layout(p);
  ASSERT_EQ(keras.shape(), (Shape{2, 5, 3, 2}));
  EXPECT_EQ(at(keras, 1, 4, 2, 1), at(p.variable.value(), 2 * 2 + 1, 1, 4, 0));
}

TEST(WeightLayout, RoundTripsFromAnyFloatingType) {
  for (Parameter p :
       {parameter({5, 2, 3, 4}, WeightLayout::conv), parameter({6, 2, 5, 1}, WeightLayout::depthwise, 3),
        parameter({6, 1, 5, 1}, WeightLayout::depthwise1d, 2), parameter({5, 1, 3, 4}, WeightLayout::conv1d),
        parameter({3, 7}, WeightLayout::plain)}) {
    const std::vector<double> before = p.variable.value().to_vector<double>();
    const Tensor keras = to_keras_layout(p);
    p.variable.value().fill(0.0);
    assign_keras_layout(p, keras.to(DType::f32));
    expect_close(p.variable.value(), before, 1e-7, "after a round trip in f32");
  }
}

TEST(WeightLayout, WrongShapeNamesTheWeight) {
  Parameter p = parameter({5, 2, 3, 4}, WeightLayout::conv);
  EXPECT_EQ(message_of([&] {
              assign_keras_layout(p, random_tensor({5, 2, 3, 4}));
            }),
            "[layer/kernel] expects a weight of shape (2, 3, 4, 5), got (5, 2, 3, 4)");
}

}  // namespace
}  // namespace ronde::test
