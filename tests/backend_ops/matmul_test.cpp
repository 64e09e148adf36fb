#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

// Whole vectors of columns, one and more blocks of rows, columns and the inner dimension, with rests of each;
// few columns, and one, that fill no vectors, beside few and many rows. Then more rows and columns than go
// through the caches together, and so many that floats are split for tiles: rests of all three, more columns
// than a thread has at once, and some that fill no tile.
const Sizes kSizes[] = {{0, 5, 3},     {1, 1, 1},      {1, 10, 300},    {5, 1, 7},       {3, 17, 33},
                        {37, 10, 64},  {64, 96, 100},  {200, 130, 48},  {33, 200, 65},   {1, 16, 1},
                        {7, 112, 130}, {53, 64, 257},  {6, 48, 17},     {98, 144, 5},    {128, 10, 128},
                        {61, 1, 333},  {5, 61, 140},   {27, 40, 129},   {14, 3, 20},     {4, 12, 1},
                        {497, 32, 9},  {13, 304, 140}, {150, 144, 150}, {80, 1072, 134}, {150, 213, 140}};

TEST(Matmul, AllTranspositions) {
  for (const Sizes& s : kSizes)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(cat(s.m, "x", s.n, "x", s.k, " ", transpose_a, transpose_b));
        const Tensor a = random(transpose_a ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1);
        const Tensor b = random(transpose_b ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2);
        compare({blank({s.m, s.n})}, {a, b}, [&](Backend& backend, Tensors out, Tensors in) {
          backend.matmul(out[0], in[0], in[1], {transpose_a, transpose_b});
        });
      }
}

TEST(Matmul, Batched) {
  // The second as in attention: 40 steps of 16 features.
  for (const Sizes& s : {Sizes{7, 9, 11}, Sizes{40, 40, 16}})
    for (const std::int64_t batch : {0, 1, 5})
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true})
          compare({blank({batch, s.m, s.n})},
                  {random(transpose_a ? Shape{batch, s.k, s.m} : Shape{batch, s.m, s.k}, 1),
                   random(transpose_b ? Shape{batch, s.n, s.k} : Shape{batch, s.k, s.n}, 2)},
                  [&](Backend& backend, Tensors out, Tensors in) {
                    backend.matmul(out[0], in[0], in[1], {transpose_a, transpose_b});
                  });
}

// Few columns are multiplied in another way than many: those of a chunk count, not those of a thread.
TEST(Matmul, FixedChunksFixItsBits) {
  for (Backend* b : tested_backends()) {
    const FixedChunks chunks(4);
    const Tensors in = copies({random({256, 128}, 1), random({128, 256}, 2)}, *b, DType::f32);
    const auto product = [&](int threads) {
      b->threads().resize(threads);
      const Tensor out = unwritten(*b, {256, 256}, DType::f32);
      b->matmul(out, in[0], in[1], {});
      return out.to_vector<float>();
    };
    const std::vector<float> alone = product(1);
    EXPECT_EQ(product(4), alone) << b->name();
    b->threads().resize(1);
  }
}

// Of few columns that fill no vectors an element's sum has the order of its inner dimension alone.
TEST(Matmul, OneRowIsThatOfMany) {
  for (Backend* b : tested_backends()) {
    if (b->name() != "onednn") continue;
    for (const std::int64_t n : {2, 3, 10, 33, 63}) {
      const Tensor rows = random({50, 200}, 1), weight = random({200, n}, 2);
      const auto product = [&](const Tensor& a) {
        const Tensors in = copies({a, weight}, *b, DType::f32);
        const Tensor out = unwritten(*b, {a.size(0), n}, DType::f32);
        b->matmul(out, in[0], in[1], {});
        return out;
      };
      const Tensor all = product(rows);
      for (const std::int64_t r : {0, 13, 49})
        EXPECT_EQ(product(rows.slice(0, r, r + 1)).to_vector<float>(),
                  all.slice(0, r, r + 1).to_vector<float>())
            << b->name() << ", row " << r << " of " << n << " columns";
    }
  }
}

TEST(Dense, BiasAndEpilogue) {
  for (const Sizes& s : kSizes)
    for (const bool with_bias : {false, true})
      for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
        SCOPED_TRACE(cat(s.m, "x", s.n, "x", s.k, " ", with_bias));
        compare({blank({s.m, s.n})},
                {random({s.m, s.k}, 1), random({s.k, s.n}, 2), with_bias ? random({s.n}, 3) : Tensor()},
                [&](Backend& backend, Tensors out, Tensors in) {
                  backend.dense(out[0], in[0], in[1], in[2], epilogue);
                });
      }
}

// The gradients of the weight and of the bias, which may be left out.
TEST(Dense, BackwardOfWeightAndBias) {
  for (const Sizes& s : kSizes)
    for (const bool with_bias : {false, true}) {
      SCOPED_TRACE(cat(s.m, "x", s.n, "x", s.k, " ", with_bias));
      compare({blank({s.k, s.n}), with_bias ? blank({s.n}) : Tensor()},
              {random({s.m, s.n}, 1), random({s.m, s.k}, 2)}, [&](Backend& backend, Tensors out, Tensors in) {
                backend.dense_backward_weight(out[0], out[1], in[0], in[1]);
              });
    }
}

// Libraries read and write several elements at once where memory begins well; a bias is one of the operands.
TEST(Dense, OperandsMayBeginAnywhere) {
  constexpr std::int64_t kM = 64, kN = 96, kK = 128;
  for (const std::int64_t offset : {1, 2, 4})
    for (const int moved : {0, 1, 2, 3, 4}) {  // one operand, or all
      SCOPED_TRACE(cat("operand ", moved, " from ", offset));
      const auto from = [&](int i) { return moved == i || moved == 4 ? offset : 0; };
      const auto part = [&](const Tensor& x, int i, const Shape& shape) { return x.view(from(i), shape); };
      compare({random({kM * kN + offset}, 4)},
              {random({kM * kK + offset}, 1), random({kK * kN + offset}, 2), random({kN + offset}, 3)},
              [&](Backend& backend, Tensors out, Tensors in) {
                backend.dense(part(out[0], 0, {kM, kN}), part(in[0], 1, {kM, kK}), part(in[1], 2, {kK, kN}),
                              part(in[2], 3, {kN}), Epilogue::relu);
              });
      compare({random({kK * kN + offset}, 4), random({kN + offset}, 5)},
              {random({kM * kN + offset}, 1), random({kM * kK + offset}, 2)},
              [&](Backend& backend, Tensors out, Tensors in) {
                backend.dense_backward_weight(part(out[0], 0, {kK, kN}), part(out[1], 3, {kN}),
                                              part(in[0], 1, {kM, kN}), part(in[1], 2, {kM, kK}));
              });
    }
}

}  // namespace
}  // namespace ronde::test
