// bf16 on the device: which kernels take it where it lies, and what happens to the others.
#include <ronde/core/cuda.h>
#include <ronde/core/ops.h>

#include "cuda/fake_device.h"
#include "cuda/library_of.h"
#include "cuda/takes_bfloat16.h"

namespace ronde::test {
namespace {

using cuda::Op;

/// A device that notes what it is given.
struct Watched {
  std::vector<cuda::Call> calls;
  FakeDevice device;

  explicit Watched(FakeOptions options = {}) : device(noting(std::move(options))) {}

  std::vector<Op> ops() const {
    std::vector<Op> result;
    for (const cuda::Call& call : calls) result.push_back(call.op);
    return result;
  }

 private:
  FakeOptions noting(FakeOptions options) {
    options.on_launch = [this](const cuda::Call& call) { calls.push_back(call); };
    return options;
  }
};

Tensor stored(Backend& backend, const Shape& shape, std::uint64_t seed, DType dtype = DType::bf16) {
  return random_tensor(backend, shape, DType::f32, seed).to(dtype);
}

std::vector<double> values(const Tensor& x) {
  return x.to_vector<double>();
}

TEST(Bfloat16OnTheDevice, IsReadAndWrittenWhereItLies) {
  Watched watched;
  Backend& backend = watched.device.backend;
  const Tensor a = stored(backend, {4, 6}, 1), b = stored(backend, {6, 3}, 2);
  const Tensor out = unwritten(backend, {4, 3}, DType::bf16), sums = unwritten(backend, {4, 3}, DType::f32);
  watched.calls.clear();
  backend.matmul(out, a, b, {});
  backend.matmul(sums, a, b, {});
  backend.unary(UnaryOp::relu, out, out, {});
  EXPECT_EQ(watched.ops(), (std::vector<Op>{Op::matmul, Op::matmul, Op::unary}));
  EXPECT_EQ(values(out)[0], std::max(0.0, values(sums.to(DType::bf16))[0]));
}

// Two copies of what is read, one of what is written.
TEST(Bfloat16OnTheDevice, OtherMixturesGoByFloatCopies) {
  Watched watched;
  Backend& backend = watched.device.backend;
  const Tensor a = stored(backend, {5}, 1), b = stored(backend, {5}, 2),
               f = stored(backend, {5}, 3, DType::f32);
  const Tensor out = unwritten(backend, {5}, DType::bf16);
  watched.calls.clear();
  backend.binary(BinaryOp::add, out, a, f);
  EXPECT_EQ(watched.ops(), (std::vector<Op>{Op::copy, Op::binary, Op::copy}));
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(values(out)[i], float{bfloat16(static_cast<float>(values(a)[i] + values(f)[i]))});
}

// Each row of a table gets many summands: they are added up in float.
TEST(Bfloat16OnTheDevice, RowsAreAddedUpInFloat) {
  Watched watched;
  Backend& backend = watched.device.backend;
  const Tensor table = filled(backend, {2, 1}, 1.0).to(DType::bf16);
  const Tensor x = filled(backend, {4, 1}, 0x1p-9).to(DType::bf16);
  const Tensor rows = Tensor::from<std::int32_t>({4}, {1, 1, 1, 1}, &backend);
  watched.calls.clear();
  backend.scatter_add_rows(table, x, rows);
  EXPECT_EQ(watched.ops(), (std::vector<Op>{Op::copy, Op::copy, Op::scatter_add_rows, Op::copy}));
  EXPECT_EQ(values(table), (std::vector<double>{1.0, 1.0078125}));
}

struct Convolved {
  std::vector<double> y, grad_weight;
  std::vector<Op> ops;
};

Convolved convolve(Watched& watched) {
  Backend& backend = watched.device.backend;
  const Tensor x = stored(backend, {2, 6, 6, 3}, 1), weight = stored(backend, {4, 3, 3, 3}, 2);
  const Tensor bias = stored(backend, {4}, 3, DType::f32), y = unwritten(backend, {2, 4, 4, 4}, DType::bf16);
  const Tensor grad_weight = unwritten(backend, {4, 3, 3, 3}, DType::f32),
               grad_bias = unwritten(backend, {4}, DType::f32);
  Convolved result;
  watched.calls.clear();
  backend.conv2d(y, x, weight, bias, {}, Epilogue::relu);
  backend.conv2d_backward_weight(grad_weight, grad_bias, y, x, {});
  result.ops = watched.ops();
  result.y = values(y);
  result.grad_weight = values(grad_weight);
  return result;
}

Convolved convolve(FakeOptions options) {
  Watched watched(std::move(options));
  return convolve(watched);
}

TEST(Bfloat16OnTheDevice, WhatALibraryHasNothingForGoesByFloatCopies) {
  const Convolved native = convolve({}), in_float = convolve({.plans_bfloat16 = false});
  EXPECT_EQ(native.ops, (std::vector<Op>{Op::conv2d, Op::conv2d_backward_weight}));
  EXPECT_EQ(in_float.ops, (std::vector<Op>{Op::copy, Op::copy, Op::conv2d, Op::copy, Op::copy, Op::copy,
                                           Op::conv2d_backward_weight}));
  EXPECT_EQ(in_float.y, native.y);
  EXPECT_EQ(in_float.grad_weight, native.grad_weight);
}

bool has_rounded_products(const cuda::Call& call) {
  return call.attributes.products == Products::rounded;
}

TEST(Bfloat16OnTheDevice, ALibraryMayLikeFloatCopiesBetter) {
  const Convolved native = convolve({}), chosen = convolve({.likes_floats = true});
  EXPECT_EQ(chosen.ops, (std::vector<Op>{Op::conv2d, Op::copy, Op::copy, Op::conv2d_backward_weight}));
  EXPECT_EQ(chosen.grad_weight, native.grad_weight);
}

// Float copies of bf16 may be multiplied by tensor cores. If one of them was no bf16, or if nothing was, it
// is up to the user.
TEST(Bfloat16OnTheDevice, OnlyProductsOfCopiesCountAsRounded) {
  Watched watched({.plans_bfloat16 = false});
  Backend& backend = watched.device.backend;
  const Tensor a = stored(backend, {4, 4}, 1), b = stored(backend, {4, 4}, 2, DType::f32),
               out = unwritten(backend, {4, 4}, DType::f32);
  const std::size_t before = watched.device.backend.plans();
  for (const auto& [first, second, is_rounded] :
       {std::tuple{a, a, true}, {a, b, false}, {b, a, false}, {b, b, false}}) {
    backend.matmul(out, first, second, {});
    ASSERT_EQ(watched.calls.back().op, Op::matmul);
    EXPECT_EQ(watched.calls.back()[1].dtype, DType::f32);
    EXPECT_EQ(has_rounded_products(watched.calls.back()), is_rounded);
  }
  // That of the refusal, that of copies and that of floats, which are not the same.
  EXPECT_EQ(watched.device.backend.plans() - before, 3u);
}

TEST(Bfloat16OnTheDevice, ConvolutionsOfCopiesCountAsRounded) {
  for (const bool plans : {false, true}) {
    Watched watched({.plans_bfloat16 = plans, .likes_floats = true});
    convolve(watched);
    std::int64_t rounded = 0, planned = 0;
    for (const cuda::Call& call : watched.calls) {
      planned += cuda::needs_plan(call.op);
      rounded += has_rounded_products(call);
    }
    EXPECT_EQ(planned, 2);
    EXPECT_EQ(rounded, plans ? 1 : 2);
  }
}

// As its weight is: from the copies that the optimizer's kernel writes along.
TEST(Bfloat16OnTheDevice, TheBiasOfAConvolutionIsRounded) {
  Watched watched;
  Backend& backend = watched.device.backend;
  const Tensor weights = stored(backend, {48}, 1, DType::f32), x = stored(backend, {1, 3, 3, 2}, 2);
  const auto kept = backend.keep_rounded(weights);
  const Variable weight = weights.view(0, {4, 2, 2, 2}), bias = weights.view(32, {4});
  conv2d(x, weight, bias);
  watched.calls.clear();
  const Variable y = conv2d(x, weight, bias, {.epilogue = Epilogue::relu});
  ASSERT_EQ(watched.ops(), std::vector<Op>{Op::conv2d});
  EXPECT_EQ(watched.calls[0][3].dtype, DType::bf16);
  EXPECT_EQ(y.dtype(), DType::bf16);
}

TEST(Bfloat16OnTheDevice, AMissingPlanIsAskedForOnce) {
  Watched watched({.plans_bfloat16 = false});
  Backend& backend = watched.device.backend;
  const Tensor a = stored(backend, {4, 4}, 1), out = unwritten(backend, {4, 4}, DType::bf16);
  for (int i = 0; i < 3; ++i) backend.matmul(out, a, a, {});
  EXPECT_EQ(watched.device.runtime.prepared(), 2);  // for bf16, and then for floats
}

using Cause = cuda::Detours::Cause;

// Two products of one shape and one of another: one reason, two places.
TEST(Bfloat16OnTheDevice, FloatCopiesAreSaidToBeOnce) {
  FakeDevice device({.plans_bfloat16 = false});
  Backend& backend = device.backend;
  const Tensor a = stored(backend, {4, 4}, 1), b = stored(backend, {4, 3}, 2),
               rows = Tensor::from<std::int32_t>({1}, {2}, &backend);
  const Tensor square = unwritten(backend, {4, 4}, DType::bf16),
               wide = unwritten(backend, {4, 3}, DType::bf16);
  backend.matmul(square, a, a, {});
  backend.matmul(square, a, a, {});
  backend.matmul(wide, a, b, {});
  backend.scatter_add_rows(square, a.slice(0, 0, 1), rows);
  backend.unary(UnaryOp::relu, square, square, {});
  const std::vector<cuda::Detours::Entry> entries = device.backend.detours().entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].cause, Cause::library);
  EXPECT_EQ(entries[0].calls, 3);
  EXPECT_EQ(entries[0].places, (std::vector<std::string>{"matmul (4, 4) bf16 <- (4, 4) bf16",
                                                         "matmul (4, 3) bf16 <- (4, 4) bf16 (4, 3) bf16"}));
  EXPECT_EQ(entries[1].cause, Cause::design);
  EXPECT_EQ(
      take_detours(backend),
      (std::vector<std::string>{
          "matmul of bfloat16 goes by float32 copies, refused by a library: there is no engine for bf16 "
          "(matmul (4, 4) bf16 <- (4, 4) bf16, and 1 more like it)",
          "scatter_add_rows of bfloat16 goes by float32 copies, by design: what comes to a row is added up "
          "in float32 (scatter_add_rows (4, 4) bf16 <- (1, 4) bf16 (1) i32)"}));
  backend.matmul(square, a, a, {});
  EXPECT_TRUE(take_detours(backend).empty());
}

TEST(Bfloat16OnTheDevice, AChoiceIsNoRefusal) {
  Watched watched({.likes_floats = true});
  convolve(watched);
  const std::vector<cuda::Detours::Entry> entries = watched.device.backend.detours().entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].cause, Cause::choice);
  EXPECT_EQ(
      take_detours(watched.device.backend),
      (std::vector<std::string>{"conv2d_backward_weight of bfloat16 goes by float32 copies, by choice: "
                                "they were faster (conv2d_backward_weight (4, 3, 3, 3) (4) <- (2, 4, 4, 4) "
                                "bf16 (2, 6, 6, 3) bf16)"}));
}

TEST(Bfloat16OnTheDevice, WhereLibrariesTakeAllNothingIsSaid) {
  FakeDevice device;
  const Tensor a = stored(device.backend, {4, 4}, 1), out = unwritten(device.backend, {4, 4}, DType::bf16);
  device.backend.matmul(out, a, a, {});
  EXPECT_TRUE(take_detours(device.backend).empty());
}

TEST(Bfloat16OnTheDevice, OptimizersTakeNone) {
  FakeDevice device;
  const Tensor w = stored(device.backend, {4}, 1);
  expect_error([&] { device.backend.sgd_step(w, w, {}, {}, {}); }, "takes no bf16");
}

}  // namespace
}  // namespace ronde::test
