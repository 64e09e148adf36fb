#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct PoolCase {
  Shape x;
  Pool2dParams params;

  Shape out() const {
    const Padding2d& p = params.padding;
    return {x[0], (x[1] + p.top + p.bottom - params.window.h) / params.stride.h + 1,
            (x[2] + p.left + p.right - params.window.w) / params.stride.w + 1, x[3]};
  }
};

const PoolCase kPoolCases[] = {
    {{0, 4, 4, 3}, {}},
    {{1, 2, 2, 1}, {}},
    {{3, 6, 8, 64}, {}},
    {{2, 7, 9, 32}, {}},
    {{2, 6, 6, 17}, {}},
    {{2, 5, 7, 5}, {.window = {3, 2}, .stride = {3, 2}}},
    {{2, 7, 7, 35}, {.window = {3, 3}, .stride = {2, 2}}},
    {{2, 7, 7, 16}, {.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}}},
    {{2, 5, 5, 16}, {.window = {2, 2}, .stride = {2, 2}, .padding = {0, 1, 0, 1}}},
    {{2, 8, 8, 16}, {.window = {2, 2}, .stride = {3, 3}}},
    {{2, 7, 6, 16}, {.window = {2, 3}, .stride = {3, 4}, .padding = {1, 0, 2, 1}}},
    {{2, 6, 5, 33}, {.window = {6, 5}, .stride = {1, 1}}},
    {{2, 6, 5, 32}, {.window = {2, 2}, .stride = {1, 1}}},
    {{1, 6, 7, 32}, {.window = {2, 2}, .stride = {2, 1}}},
    {{2, 6, 5, 19}, {.window = {3, 3}, .stride = {1, 1}, .padding = {1, 1, 1, 1}}},
    {{1, 2, 2, 16}, {.window = {3, 3}, .stride = {1, 1}, .padding = {1, 1, 1, 1}}},
    {{2, 6, 9, 21}, {.window = {3, 3}, .stride = {3, 3}}},
    {{2, 7, 7, 16}, {.window = {3, 3}, .stride = {3, 1}}},
    {{2, 8, 8, 16}, {.window = {3, 3}, .stride = {4, 5}, .padding = {2, 1, 0, 2}}},
};

TEST(Pool2d, MaxForward) {
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(cat(c.x));
    // Few different values, so that ties occur.
    Values values = random_values(c.x.count(), 1);
    for (double& v : values) v = std::round(v * 3);
    compare({blank(c.out()), blank(c.out(), DType::u8)}, {tensor(oracle(), c.x, values)},
            [&](Backend& b, Tensors out, Tensors in) { b.max_pool2d(out[0], out[1], in[0], c.params); });
  }
}

TEST(Pool2d, MaxLetsNanWin) {
  Values values = random_values(2 * 6 * 6 * 17, 1);
  for (std::size_t i = 0; i < values.size(); i += 7) values[i] = std::nan("");
  for (const std::int64_t side : {2, 3, 6}) {
    SCOPED_TRACE(side);
    const Pool2dParams params{.window = {side, side}, .stride = {side, side}};
    const Shape out{2, 6 / side, 6 / side, 17};
    compare({blank(out), blank(out, DType::u8)}, {tensor(oracle(), {2, 6, 6, 17}, values)},
            [&](Backend& b, Tensors to, Tensors in) { b.max_pool2d(to[0], to[1], in[0], params); });
  }
}

TEST(Pool2d, MaxBackward) {
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(cat(c.x));
    const Tensor argmax = blank(c.out(), DType::u8);
    oracle().max_pool2d(blank(c.out()), argmax, random(c.x, 1), c.params);
    compare({blank(c.x)}, {random(c.out(), 2), argmax}, [&](Backend& b, Tensors out, Tensors in) {
      b.max_pool2d_backward(out[0], in[0], in[1], c.params);
    });
  }
}

TEST(Pool2d, MaxOfLargeWindowsHasWideIndices) {
  const Pool2dParams params{.window = {17, 17}, .stride = {17, 17}};
  compare({blank({2, 1, 1, 18}), blank({2, 1, 1, 18}, DType::i32)}, {random({2, 17, 17, 18}, 1)},
          [&](Backend& b, Tensors out, Tensors in) { b.max_pool2d(out[0], out[1], in[0], params); });
  const Tensor argmax = blank({2, 1, 1, 18}, DType::i32);
  oracle().max_pool2d(blank({2, 1, 1, 18}), argmax, random({2, 17, 17, 18}, 1), params);
  compare({blank({2, 17, 17, 18})}, {random({2, 1, 1, 18}, 2), argmax},
          [&](Backend& b, Tensors out, Tensors in) { b.max_pool2d_backward(out[0], in[0], in[1], params); });
}

TEST(Pool2d, Average) {
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(cat(c.x));
    compare({blank(c.out()), blank(c.x)}, {random(c.x, 1), random(c.out(), 2)},
            [&](Backend& b, Tensors out, Tensors in) {
              b.average_pool2d(out[0], in[0], c.params);
              b.average_pool2d_backward(out[1], in[1], c.params);
            });
  }
}

}  // namespace
}  // namespace ronde::test
