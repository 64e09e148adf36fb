#include <ronde/nn/cropping2d.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(Cropping2D, LeavesTheEdgesOut) {
  Cropping2D crop({.top = 2, .bottom = 1, .left = 0, .right = 3});
  const Tensor x = random_tensor({2, 5, 6, 2});
  const std::vector<double> from = x.to_vector<double>();
  std::vector<double> expected;
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t h = 2; h < 4; ++h)
      for (std::size_t w = 0; w < 3; ++w)
        for (std::size_t c = 0; c < 2; ++c) expected.push_back(from[((n * 5 + h) * 6 + w) * 2 + c]);
  EXPECT_EQ(crop(x).shape(), (Shape{2, 2, 3, 2}));
  expect_close(crop(x).value(), expected, 0.0, "cropped");
  expect_module_gradients(crop, x);
  EXPECT_EQ(crop(Tensor::zeros({0, 5, 6, 2})).shape(), (Shape{0, 2, 3, 2}));
}

TEST(Cropping2D, OneNumberIsForEverySide) {
  Cropping2D none, two(2);
  none.build({6, 5, 1});
  two.build({6, 5, 1});
  EXPECT_EQ(none.output_shape(), (Shape{1, 6, 5, 1}));
  EXPECT_EQ(two.output_shape(), (Shape{1, 2, 1, 1}));
}

TEST(Cropping2D, NamesItselfInErrors) {
  EXPECT_EQ(message_of([] { Cropping2D crop({.left = -1, .name = "edge"}); }),
            "[edge] cropping must not be negative, got -1");
  Cropping2D crop({.top = 1, .bottom = 2});
  EXPECT_EQ(message_of([&] {
              crop(random_tensor({1, 3, 4, 1}));
            }),
            "[cropping2d] nothing is left of images of 3 x 4 without 1 + 2 rows and 0 + 0 columns");
  EXPECT_THROW(crop(random_tensor({2, 3})), Error);
}

}  // namespace
}  // namespace ronde::test
