#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

Tensor keys_of(std::int64_t samples) {
  std::vector<std::int64_t> keys;
  for (std::int64_t i = 0; i < samples; ++i) keys.insert(keys.end(), {i * 5000000000 + 3, 7});
  return Tensor::from<std::int64_t>({samples, 2}, keys, &oracle());
}

TEST(Dropout, SameMaskEverywhere) {
  for (const Shape& shape : {Shape{0, 5}, Shape{1, 1}, Shape{3, 4, 4, 5}, Shape{5, 257}, Shape{2, 1000}})
    for (const double rate : {0.0, 1e-9, 0.25, 0.5, 0.9999})
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(cat(shape, " rate ", rate, in_place ? " in place" : ""));
        // Exact zeros and kept elements must agree: the tolerance is far below any kept value.
        compare({blank(shape)}, {random(shape, 1, 0.5, 1), keys_of(shape[0])},
                [&](Backend& b, Tensors out, Tensors in) {
                  if (in_place) b.copy(out[0], in[0]);
                  b.dropout(out[0], in_place ? out[0] : in[0], in[1], {.rate = rate, .seed = 42, .op = 3});
                },
                {.f32 = 1e-7, .f64 = 1e-15});
      }
}

// The oracle's are two calls.
TEST(Dropout, BehindDense) {
  for (const auto& [n, inputs, units] :
       {std::array{0, 3, 8}, {1, 1, 1}, {5, 7, 3}, {64, 100, 16}, {7, 33, 257}})
    for (const bool with_bias : {false, true})
      for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
        SCOPED_TRACE(cat(n, " x ", inputs, " x ", units, with_bias ? " + bias" : ""));
        compare({blank({n, units})},
                {random({n, inputs}, 1), random({inputs, units}, 2),
                 with_bias ? random({units}, 3) : Tensor(), keys_of(n)},
                [&](Backend& b, Tensors out, Tensors in) {
                  b.dense_dropout(out[0], in[0], in[1], in[2], epilogue, in[3],
                                  {.rate = 0.3, .seed = 42, .op = 3});
                },
                {.bf16 = 0x1.02p-7});  // rounded twice
      }
}

}  // namespace
}  // namespace ronde::test
