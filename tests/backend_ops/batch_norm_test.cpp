#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

const Shape kBatchNormShapes[] = {{1, 1}, {7, 3}, {2, 5, 5, 17}, {3, 20, 20, 64}, {0, 4}};

TEST(BatchNorm, Statistics) {
  for (const Shape& shape : kBatchNormShapes) {
    SCOPED_TRACE(cat(shape));
    const Shape c{shape.back()};
    compare({blank(c), blank(c)}, {random(shape, 1, 4, 6)},
            [](Backend& b, Tensors out, Tensors in) { b.batch_statistics(out[0], out[1], in[0]); });
  }
}

TEST(BatchNorm, Forward) {
  for (const Shape& shape : kBatchNormShapes)
    for (const bool affine : {false, true}) {
      SCOPED_TRACE(cat(shape));
      const Shape c{shape.back()};
      compare({blank(shape)},
              {random(shape, 1), random(c, 2), random(c, 3, 0.1, 1), affine ? random(c, 4) : Tensor(),
               affine ? random(c, 5) : Tensor()},
              [](Backend& b, Tensors out, Tensors in) {
                b.batch_norm(out[0], in[0], in[1], in[2], in[3], in[4], {});
              });
    }
}

TEST(BatchNorm, Backward) {
  for (const Shape& shape : kBatchNormShapes)
    for (const bool affine : {false, true}) {
      SCOPED_TRACE(cat(shape));
      const Shape c{shape.back()};
      compare({blank(shape), affine ? blank(c) : Tensor(), affine ? blank(c) : Tensor()},
              {random(shape, 1), random(shape, 2), random(c, 3, -0.1, 0.1), random(c, 4, 0.1, 1),
               affine ? random(c, 5) : Tensor()},
              [](Backend& b, Tensors out, Tensors in) {
                b.batch_norm_backward(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], {});
              });
    }
}

// A plain relu, and one that cuts off above.
const BatchNormParams kRelus[] = {{}, {.highest = 0.5}};

TEST(BatchNorm, ForwardWithRelu) {
  for (const Shape& shape : kBatchNormShapes)
    for (const BatchNormParams& params : kRelus) {
      const bool affine = !std::isinf(params.highest);
      SCOPED_TRACE(cat(shape, " ", params.highest));
      const Shape c{shape.back()};
      compare({blank(shape)},
              {random(shape, 1), random(c, 2), random(c, 3, 0.1, 1), affine ? random(c, 4) : Tensor(),
               affine ? random(c, 5) : Tensor()},
              [&](Backend& b, Tensors out, Tensors in) {
                b.batch_norm_relu(out[0], in[0], in[1], in[2], in[3], in[4], params);
              });
    }
}

TEST(BatchNorm, BackwardWithRelu) {
  for (const Shape& shape : kBatchNormShapes)
    for (const BatchNormParams& params : kRelus) {
      const bool affine = !std::isinf(params.highest);
      SCOPED_TRACE(cat(shape, " ", params.highest));
      const Shape c{shape.back()};
      compare({blank(shape), affine ? blank(c) : Tensor(), affine ? blank(c) : Tensor()},
              {random(shape, 1), random(shape, 2), random(c, 3, -0.1, 0.1), random(c, 4, 0.1, 1),
               affine ? random(c, 5) : Tensor(), random(shape, 6)},
              [&](Backend& b, Tensors out, Tensors in) {
                b.batch_norm_relu_backward(out[0], out[1], out[2], in[0], in[5], in[1], in[2], in[3], in[4],
                                           params);
              });
    }
}

}  // namespace
}  // namespace ronde::test
