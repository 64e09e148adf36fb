#include <ronde/nn/zero_padding2d.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(ZeroPadding2D, PutsZerosAroundTheImages) {
  ZeroPadding2D pad({.top = 2, .bottom = 0, .left = 1, .right = 3});
  const Tensor x = random_tensor({2, 3, 2, 2});
  const std::vector<double> from = x.to_vector<double>();
  std::vector<double> expected(2 * 5 * 6 * 2, 0.0);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t h = 0; h < 3; ++h)
      for (std::size_t w = 0; w < 2; ++w)
        for (std::size_t c = 0; c < 2; ++c)
          expected[((n * 5 + h + 2) * 6 + w + 1) * 2 + c] = from[((n * 3 + h) * 2 + w) * 2 + c];
  EXPECT_EQ(pad(x).shape(), (Shape{2, 5, 6, 2}));
  expect_close(pad(x).value(), expected, 0.0, "padded");
  expect_module_gradients(pad, x);
  EXPECT_EQ(pad(Tensor::zeros({0, 3, 2, 2})).shape(), (Shape{0, 5, 6, 2}));
}

TEST(ZeroPadding2D, IsOneOnEverySideByDefault) {
  ZeroPadding2D one, three(3);
  one.build({4, 5, 1});
  three.build({4, 5, 1});
  EXPECT_EQ(one.output_shape(), (Shape{1, 6, 7, 1}));
  EXPECT_EQ(three.output_shape(), (Shape{1, 10, 11, 1}));
}

TEST(ZeroPadding2D, NamesItselfInErrors) {
  EXPECT_EQ(message_of([] { ZeroPadding2D pad({.left = -1, .name = "edge"}); }),
            "[edge] padding must not be negative, got -1");
  ZeroPadding2D pad;
  EXPECT_THROW(pad(random_tensor({2, 3})), Error);
}

}  // namespace
}  // namespace ronde::test
