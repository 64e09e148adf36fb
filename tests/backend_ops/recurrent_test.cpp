#include <functional>

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

/// Zeros and ones, (steps, n).
Tensor some_mask(std::int64_t steps, std::int64_t n) {
  const Tensor mask = random({steps, n}, 9);
  oracle().binary(BinaryOp::greater, mask, mask, Tensor::full({steps, n}, -0.3, mask.options()));
  return mask;
}

struct Tables {
  std::function<Tensors(const RecurrentCase&)> outputs, inputs;
};
/// Each case in both orders of steps.
void compare_all(const Tables& tables,
                 const std::function<void(Backend&, Tensors, Tensors, RecurrentParams)>& kernel) {
  for (const RecurrentCase& c : kRecurrentCases) {
    SCOPED_TRACE(cat(c.steps, " x ", c.n, " x ", c.units));
    for (const RecurrentParams params : {RecurrentParams{}, RecurrentParams{.backwards = true}})
      compare(
          tables.outputs(c), tables.inputs(c),
          [&](Backend& b, Tensors out, Tensors in) { kernel(b, out, in, params); }, kFloats);
  }
}

/// (steps, n, parts * units)
Shape wide(const RecurrentCase& c, std::int64_t parts) {
  return {c.steps, c.n, parts * c.units};
}

TEST(Lstm, Forward) {
  const auto outputs = [](const RecurrentCase& c) {
    return Tensors{blank(wide(c, 1)), blank(wide(c, 1)), blank(wide(c, 4)),
                   blank(wide(c, 1)), blank(wide(c, 1)), blank(wide(c, 4)),
                   blank(wide(c, 1)), blank(wide(c, 1)), blank({1, c.n, 4 * c.units})};
  };
  const auto inputs = [](const RecurrentCase& c) {
    return Tensors{random(wide(c, 4), 1, 2), random({c.units, 4 * c.units}, 2, 0.5), some_mask(c.steps, c.n)};
  };
  compare_all({outputs, inputs}, [](Backend& b, Tensors out, Tensors in, RecurrentParams params) {
    b.lstm(out[0], out[1], out[2], in[0], in[1], {}, params);
    b.lstm(out[3], out[4], out[5], in[0], in[1], in[2], params);
    b.lstm(out[6], out[7], out[8].broadcast_to(in[0].shape()), in[0], in[1], in[2], params);
  });
}

TEST(Lstm, Backward) {
  const auto outputs = [](const RecurrentCase& c) { return Tensors{blank(wide(c, 4)), blank(wide(c, 4))}; };
  const auto inputs = [](const RecurrentCase& c) {
    return Tensors{random(wide(c, 1), 1), random(wide(c, 1), 2), random(wide(c, 4), 3),
                   random({c.units, 4 * c.units}, 4, 0.2), some_mask(c.steps, c.n)};
  };
  compare_all({outputs, inputs}, [](Backend& b, Tensors out, Tensors in, RecurrentParams params) {
    b.lstm_backward(out[0], in[0], in[1], in[2], in[3], {}, params);
    b.lstm_backward(out[1], in[0], in[1], in[2], in[3], in[4], params);
  });
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
  const auto outputs = [](const RecurrentCase& c) {
    return Tensors{blank(wide(c, 1)), blank(wide(c, 4)), blank(wide(c, 1)),
                   blank(wide(c, 4)), blank(wide(c, 1)), blank({1, c.n, 4 * c.units})};
  };
  const auto inputs = [](const RecurrentCase& c) {
    return Tensors{random(wide(c, 3), 1, 2), random({c.units, 3 * c.units}, 2, 0.5), random({3 * c.units}, 3),
                   some_mask(c.steps, c.n)};
  };
  compare_all({outputs, inputs}, [](Backend& b, Tensors out, Tensors in, RecurrentParams params) {
    b.gru(out[0], out[1], in[0], in[1], {}, {}, params);
    b.gru(out[2], out[3], in[0], in[1], in[2], in[3], params);
    b.gru(out[4], out[5].broadcast_to(out[1].shape()), in[0], in[1], in[2], in[3], params);
  });
}

TEST(Gru, Backward) {
  const auto outputs = [](const RecurrentCase& c) {
    return Tensors{blank(wide(c, 3)), blank(wide(c, 3)), blank(wide(c, 3)), blank(wide(c, 3))};
  };
  const auto inputs = [](const RecurrentCase& c) {
    return Tensors{random(wide(c, 1), 1), random(wide(c, 1), 2), random(wide(c, 4), 3, 0.1, 0.9),
                   random({c.units, 3 * c.units}, 4, 0.2), some_mask(c.steps, c.n)};
  };
  compare_all({outputs, inputs}, [](Backend& b, Tensors out, Tensors in, RecurrentParams params) {
    b.gru_backward(out[0], out[1], in[0], in[1], in[2], in[3], {}, params);
    b.gru_backward(out[2], out[3], in[0], in[1], in[2], in[3], in[4], params);
  });
}

}  // namespace
}  // namespace ronde::test
