#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct RecurrentCase {
  std::int64_t steps, n, units;
};
// One step and many; fewer rows than a thread gets and more than go through the steps together; units that
// fill no vector, some, and more columns than are packed together; one row, whose products threads share.
const RecurrentCase kRecurrentCases[] = {{1, 1, 1},   {3, 5, 8},  {4, 2, 10},  {2, 70, 33},
                                         {5, 13, 64}, {3, 4, 80}, {2, 3, 150}, {2, 1, 370}};
constexpr Tolerance kFloats{.bf16 = 0};
constexpr RecurrentParams kOrdersOfSteps[] = {{}, {.backwards = true}};

/// Zeros and ones, (steps, n).
Tensor some_mask(std::int64_t steps, std::int64_t n) {
  const Tensor mask = random({steps, n}, 9);
  oracle().binary(BinaryOp::greater, mask, mask, Tensor::full({steps, n}, -0.3, mask.options()));
  return mask;
}

TEST(Lstm, Forward) {
  for (const auto& [steps, n, units] : kRecurrentCases) {
    SCOPED_TRACE(cat(steps, " x ", n, " x ", units));
    const Shape shape{steps, n, units}, gates{steps, n, 4 * units};
    for (const RecurrentParams params : kOrdersOfSteps)
      compare(
          {blank(shape), blank(shape), blank(gates), blank(shape), blank(shape), blank(gates)},
          {random(gates, 1, 2), random({units, 4 * units}, 2, 0.5), some_mask(steps, n)},
          [&](Backend& b, Tensors out, Tensors in) {
            b.lstm(out[0], out[1], out[2], in[0], in[1], {}, params);
            b.lstm(out[3], out[4], out[5], in[0], in[1], in[2], params);
          },
          kFloats);
  }
}

TEST(Lstm, Backward) {
  for (const auto& [steps, n, units] : kRecurrentCases) {
    SCOPED_TRACE(cat(steps, " x ", n, " x ", units));
    const Shape shape{steps, n, units}, gates{steps, n, 4 * units};
    for (const RecurrentParams params : kOrdersOfSteps)
      compare(
          {blank(gates), blank(gates)},
          {random(shape, 1), random(shape, 2), random(gates, 3), random({units, 4 * units}, 4, 0.2),
           some_mask(steps, n)},
          [&](Backend& b, Tensors out, Tensors in) {
            b.lstm_backward(out[0], in[0], in[1], in[2], in[3], {}, params);
            b.lstm_backward(out[1], in[0], in[1], in[2], in[3], in[4], params);
          },
          kFloats);
  }
}

TEST(Lstm, OfNoRows) {
  compare(
      {blank({3, 0, 4}), blank({3, 0, 4}), blank({3, 0, 16})},
      {random({3, 0, 16}, 1), random({4, 16}, 2), random({3, 0}, 3)},
      [](Backend& b, Tensors out, Tensors in) {
        b.lstm(out[0], out[1], out[2], in[0], in[1], in[2], {});
        b.lstm_backward(out[2], out[0], out[1], in[0], in[1], in[2], {});
      },
      kFloats);
}

TEST(Gru, Forward) {
  for (const auto& [steps, n, units] : kRecurrentCases) {
    SCOPED_TRACE(cat(steps, " x ", n, " x ", units));
    const Shape shape{steps, n, units}, gates{steps, n, 4 * units};
    for (const RecurrentParams params : kOrdersOfSteps)
      compare(
          {blank(shape), blank(gates), blank(shape), blank(gates)},
          {random({steps, n, 3 * units}, 1, 2), random({units, 3 * units}, 2, 0.5), random({3 * units}, 3),
           some_mask(steps, n)},
          [&](Backend& b, Tensors out, Tensors in) {
            b.gru(out[0], out[1], in[0], in[1], {}, {}, params);
            b.gru(out[2], out[3], in[0], in[1], in[2], in[3], params);
          },
          kFloats);
  }
}

TEST(Gru, Backward) {
  for (const auto& [steps, n, units] : kRecurrentCases) {
    SCOPED_TRACE(cat(steps, " x ", n, " x ", units));
    const Shape shape{steps, n, units}, wide{steps, n, 3 * units};
    for (const RecurrentParams params : kOrdersOfSteps)
      compare(
          {blank(wide), blank(wide), blank(wide), blank(wide)},
          {random(shape, 1), random(shape, 2), random({steps, n, 4 * units}, 3, 0.1, 0.9),
           random({units, 3 * units}, 4, 0.2), some_mask(steps, n)},
          [&](Backend& b, Tensors out, Tensors in) {
            b.gru_backward(out[0], out[1], in[0], in[1], in[2], in[3], {}, params);
            b.gru_backward(out[2], out[3], in[0], in[1], in[2], in[3], in[4], params);
          },
          kFloats);
  }
}

}  // namespace
}  // namespace ronde::test
