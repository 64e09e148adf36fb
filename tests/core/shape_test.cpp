#include <ronde/core/shape.h>

#include "core/testing.h"

namespace ronde {
namespace {

TEST(Shape, CountsAndIndexesFromBothEnds) {
  Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.count(), 30);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape.back(), 5);
  shape[-2] = 7;
  EXPECT_EQ(shape, (Shape{2, 7, 5}));
}

TEST(Shape, RefusesAnAxisThatThereIsNot) {
  Shape shape{2, 3};
  test::expect_error([&] { (void)shape[2]; }, "no axis 2 in (2, 3)");
  test::expect_error([&] { shape[-3] = 1; }, "no axis -3 in (2, 3)");
  test::expect_error([&] { (void)Shape().back(); }, "no axis -1 in ()");
  test::expect_error([&] { (void)shape.tail(3); }, "no axis 3 in (2, 3)");
}

TEST(Shape, AScalarHasOneElement) {
  EXPECT_EQ(Shape().count(), 1);
  EXPECT_EQ(Shape({4, 0}).count(), 0);
}

TEST(Shape, EqualityLooksAtTheRankToo) {
  EXPECT_FALSE(Shape({1}) == Shape());
  EXPECT_FALSE(Shape({2, 1}) == Shape({2}));
  EXPECT_TRUE(Shape({2, 1}) == Shape({2, 1}));
}

TEST(Shape, TailAndBatch) {
  const Shape shape{8, 28, 28, 1};
  EXPECT_EQ(shape.tail(1), (Shape{28, 28, 1}));
  EXPECT_EQ(shape.tail(4), Shape());
  EXPECT_EQ(shape.with_batch(3), (Shape{3, 28, 28, 1}));
  EXPECT_EQ(Shape().batch_of(3), (Shape{3}));
  EXPECT_EQ((Shape{28, 1}).batch_of(3), (Shape{3, 28, 1}));
  test::expect_error([] { (void)Shape().with_batch(1); }, "no batch axis");
}

TEST(Shape, RefusesANinthAxis) {
  Shape shape{1, 2, 3, 4, 5, 6, 7, 8};
  test::expect_error([&] { shape.push_back(9); }, "at most 8 axes");
  const std::vector<std::int64_t> nine(9, 1);
  test::expect_error([&] { Shape{std::span(nine)}; }, "at most 8 axes, got 9");
}

TEST(Shape, AsText) {
  EXPECT_EQ(to_string(Shape{128, 26, 26, 32}), "(128, 26, 26, 32)");
  EXPECT_EQ(to_string(Shape{7}), "(7,)");
  EXPECT_EQ(to_string(Shape{}), "()");
}

TEST(Shape, RowMajorStrides) {
  EXPECT_EQ(row_major_strides({2, 3, 5}), (Shape{15, 5, 1}));
  EXPECT_EQ(row_major_strides({}), Shape());
}

TEST(Shape, BroadcastsByTheRuleOfNumPy) {
  EXPECT_EQ(broadcast_shapes({8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast_shapes({}, {3}), (Shape{3}));
  EXPECT_EQ(broadcast_shapes({0, 3}, {1, 3}), (Shape{0, 3}));
  EXPECT_EQ(broadcast_shapes({1}, {0}), (Shape{0}));
  test::expect_error([] { broadcast_shapes({2, 3}, {4}); }, "(2, 3) and (4,)");
}

}  // namespace
}  // namespace ronde
