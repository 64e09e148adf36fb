// Convolutions where libraries have nothing, by our own kernels; the whole table of kernels has the other
// ops.
#include <algorithm>
#include <array>
#include <vector>

#include <ronde/core/cuda.h>

#include "cuda/fake_device.h"
#include "cuda/gpu/kernels.h"
#include "cuda/operand_of.h"

namespace ronde::test {
namespace {

struct Shapes {
  Shape x, weight, out;
  Conv2dParams params;
};

const Shapes kShapes[] = {
    {{2, 5, 4, 3}, {4, 3, 3, 3}, {2, 3, 2, 4}, {}},
    {{3, 6, 7, 4}, {6, 2, 3, 2}, {3, 3, 4, 6}, {.stride = {2, 2}, .padding = {1, 0, 1, 1}, .groups = 2}},
    {{1, 9, 8, 2}, {3, 3, 2, 2}, {1, 5, 5, 3}, {.dilation = {2, 3}}},
    {{300, 1, 1, 5}, {2, 1, 1, 5}, {300, 1, 1, 2}, {}},
    // More filters than a warp has lanes, more pixels than a piece; taps beside the picture.
    {{3, 21, 23, 1}, {35, 3, 3, 1}, {3, 21, 23, 35}, {.padding = {1, 1, 1, 1}}},
    {{2, 17, 30, 3},
     {5, 2, 5, 3},
     {2, 10, 14, 5},
     {.stride = {2, 2}, .padding = {1, 3, 2, 0}, .dilation = {2, 1}}},
    // Pixels whose products a thread adds up in more than one go.
    {{1, 640, 641, 1}, {2, 1, 1, 1}, {1, 640, 641, 2}, {}},
    // As many values a filter as there may be, and one more; filters by fours, of which a block has more than
    // it needs.
    {{2, 7, 9, 4}, {36, 3, 3, 4}, {2, 7, 9, 36}, {.padding = {2, 0, 1, 1}}},
    {{2, 7, 9, 3}, {8, 1, 13, 3}, {2, 7, 3, 8}, {.padding = {0, 0, 3, 3}}},
    {{5, 12, 11, 1}, {64, 5, 5, 1}, {5, 6, 4, 64}, {.stride = {2, 3}, .padding = {2, 2, 1, 2}}},
    // Windows all of whose values are padding.
    {{2, 3, 3, 2}, {4, 2, 2, 2}, {2, 8, 7, 4}, {.padding = {3, 3, 3, 2}}},
};

// Those that tiles are for: which tile it is depends on how many fill a device.
const Shapes kTiledShapes[] = {
    {{2, 9, 10, 4}, {4, 3, 3, 4}, {2, 7, 8, 4}, {}},
    {{1, 7, 5, 8}, {12, 1, 1, 8}, {1, 7, 5, 12}, {}},
    // Few pixels: the gradient of the weight is made in one piece.
    {{1, 5, 5, 4}, {8, 3, 3, 4}, {1, 3, 3, 8}, {}},
    // Lines of one pixel; the largest windows.
    {{20, 3, 1, 4}, {4, 3, 1, 4}, {20, 1, 1, 4}, {}},
    {{1, 14, 13, 4}, {4, 12, 12, 4}, {1, 3, 2, 4}, {}},
    {{1, 14, 3, 4}, {4, 12, 1, 4}, {1, 3, 3, 4}, {}},
    {{1, 2, 15, 20}, {4, 1, 12, 20}, {1, 2, 9, 4}, {.padding = {0, 0, 2, 4}}},
    {{3, 13, 11, 12}, {40, 3, 2, 12}, {3, 7, 6, 40}, {.stride = {2, 2}, .padding = {1, 1, 0, 1}}},
    {{2, 12, 11, 8}, {12, 2, 3, 8}, {2, 4, 11, 12}, {.stride = {3, 1}, .padding = {0, 0, 1, 1}}},
    // Stages of more than one line, pieces of more than one stage.
    {{2600, 3, 7, 4}, {4, 3, 3, 4}, {2600, 1, 5, 4}, {}},
    {{2, 11, 9, 20}, {36, 5, 3, 20}, {2, 10, 7, 36}, {.padding = {2, 1, 0, 2}, .dilation = {1, 2}}},
    {{1, 19, 20, 24}, {100, 3, 3, 24}, {1, 19, 20, 100}, {.padding = {1, 1, 1, 1}}},
    {{1, 113, 115, 4}, {68, 3, 3, 4}, {1, 113, 115, 68}, {.padding = {1, 1, 1, 1}}},
    {{1, 113, 115, 68}, {4, 3, 3, 68}, {1, 113, 115, 4}, {.padding = {1, 1, 1, 1}}},
    {{1, 113, 115, 4}, {36, 3, 3, 4}, {1, 113, 115, 36}, {.padding = {0, 2, 1, 1}}},
    {{1, 113, 115, 36}, {4, 3, 3, 36}, {1, 113, 115, 4}, {.padding = {2, 0, 1, 1}}},
};

void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  const auto g = got.to_vector<double>(), w = want.to_vector<double>();
  ASSERT_EQ(g.size(), w.size());
  double largest = 0;
  for (const double value : w) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(g[i], w[i], tolerance * largest) << i;
}

// All four results of a layer on `backend`, of operands that are rounded to `dtype`; bf16 has a float bias.
std::vector<Tensor> results(Backend& backend, const Shapes& s, DType dtype, DType beside) {
  const auto stored = [&](const Shape& shape, std::uint64_t seed, DType as) {
    CpuBackend cpu;
    return random_tensor(cpu, shape, DType::f64, seed).to(DType::bf16).to(as).to(backend);
  };
  const std::int64_t o = s.weight[0];
  const Tensor x = stored(s.x, 1, dtype), w = stored(s.weight, 2, dtype), bias = stored({o}, 3, beside),
               grad = stored(s.out, 4, dtype);
  const Tensor out = unwritten(backend, s.out, dtype), grad_x = unwritten(backend, s.x, dtype),
               grad_w = unwritten(backend, s.weight, beside), grad_bias = unwritten(backend, {o}, beside);
  backend.conv2d(out, x, w, bias, s.params, Epilogue::relu);
  backend.conv2d_backward_input(grad_x, grad, w, s.params);
  backend.conv2d_backward_weight(grad_w, grad_bias, grad, x, s.params);
  return {out, grad_x, grad_w, grad_bias};
}

TEST(DirectConv2d, GivesWhatTheOracleGives) {
  CpuBackend oracle;
  FakeDevice device({.has_engines = false});
  for (const Shapes& s : kShapes) {
    const std::vector<Tensor> want = results(oracle, s, DType::f64, DType::f64);
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      SCOPED_TRACE(cat(dtype, " x ", s.x, " weight ", s.weight));
      const DType beside = dtype == DType::bf16 ? DType::f32 : dtype;
      const std::vector<Tensor> got = results(device.backend, s, dtype, beside);
      for (std::size_t i = 0; i < want.size(); ++i) {
        const bool is_rounded = got[i].dtype() == DType::bf16;
        expect_near(got[i], want[i], is_rounded ? 0x1p-8 : dtype == DType::f64 ? 1e-13 : 1e-6);
      }
    }
  }
}

TEST(TiledConv2d, GivesWhatTheOracleGives) {
  CpuBackend oracle;
  FakeDevice device({.has_engines = false});
  for (const Shapes& s : kTiledShapes) {
    SCOPED_TRACE(cat("x ", s.x, " weight ", s.weight));
    const std::vector<Tensor> want = results(oracle, s, DType::f64, DType::f64);
    const std::vector<Tensor> got = results(device.backend, s, DType::f32, DType::f32);
    for (std::size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i], 1e-6);
  }
}

int wrong_samples(const cuda::Call& call) {
  std::vector<unsigned char> is_wrong(cuda::kConvSamples, 255);
  cuda::run_conv2d_check(call, {0x1p-14, 0x1p-20}, is_wrong.data(), {});
  return static_cast<int>(
      std::count_if(is_wrong.begin(), is_wrong.end(), [](unsigned char w) { return w != 0; }));
}

// Of a layer: forward into the first of three, the gradient of its input likewise, and that of its weight and
// bias.
std::array<cuda::Call, 3> layer_calls(const std::vector<Tensor>& forward, const std::vector<Tensor>& of_input,
                                      const std::vector<Tensor>& of_weight,
                                      const cuda::Attributes& attributes) {
  const auto call = [&](cuda::Op op, int outputs, int operands, const std::vector<Tensor>& tensors) {
    cuda::Call result{.op = op, .outputs = outputs, .operands = operands, .attributes = attributes};
    std::ranges::transform(tensors, result.tensors.begin(), cuda::operand_of);
    return result;
  };
  return {call(cuda::Op::conv2d, 1, 4, forward), call(cuda::Op::conv2d_backward_input, 1, 3, of_input),
          call(cuda::Op::conv2d_backward_weight, 2, 4, of_weight)};
}

// What an engine that takes padding for the same on all sides would write is told from the right result.
TEST(ConvolutionCheck, TellsARightResultFromOneOfOtherPadding) {
  CpuBackend cpu;
  const Shape image{2, 9, 10, 3}, filters{8, 3, 3, 3}, out{2, 9, 10, 8};
  const Conv2dParams right{.padding = {0, 2, 1, 1}}, wrong{.padding = {1, 1, 1, 1}};
  const Tensor x = random_tensor(cpu, image, DType::f32, 1), w = random_tensor(cpu, filters, DType::f32, 2),
               grad = random_tensor(cpu, out, DType::f32, 3);
  for (const Conv2dParams& computed : {right, wrong}) {
    const Tensor y = Tensor::empty(out), grad_x = Tensor::empty(image), grad_w = Tensor::empty(filters);
    cpu.conv2d(y, x, w, {}, computed, Epilogue::relu);
    cpu.conv2d_backward_input(grad_x, grad, w, computed);
    cpu.conv2d_backward_weight(grad_w, {}, grad, x, computed);
    const auto calls = layer_calls({y, x, w}, {grad_x, grad, w}, {grad_w, {}, grad, x},
                                   {.epilogue = Epilogue::relu, .conv = right});
    for (const cuda::Call& call : calls) {
      SCOPED_TRACE(static_cast<int>(call.op));
      if (computed.padding.top == right.padding.top)
        EXPECT_EQ(wrong_samples(call), 0);
      else
        EXPECT_GT(wrong_samples(call), 100);
    }
  }
}

std::array<cuda::Call, 3> calls_of(const Shapes& s) {
  const Tensor x = Tensor::empty(s.x), w = Tensor::empty(s.weight), out = Tensor::empty(s.out);
  return layer_calls({out, x, w}, {x, out, w}, {w, {}, out, x}, {.conv = s.params});
}

TEST(TiledConv2d, IsForFloatsByFoursOfOneGroup) {
  for (const Shapes& s : kTiledShapes)
    for (const cuda::Call& call : calls_of(s))
      EXPECT_EQ(cuda::has_tiled_conv2d(call),
                call.op != cuda::Op::conv2d_backward_input || s.params.stride.h == 1)
          << cat(s.x, " op ", static_cast<int>(call.op));
  const Shapes others[] = {
      {{2, 9, 10, 6}, {4, 3, 3, 6}, {2, 7, 8, 4}, {}},
      {{2, 9, 10, 4}, {6, 3, 3, 4}, {2, 7, 8, 6}, {}},
      {{2, 9, 10, 8}, {8, 3, 3, 4}, {2, 7, 8, 8}, {.groups = 2}},
      {{2, 19, 10, 4}, {4, 13, 3, 4}, {2, 7, 8, 4}, {}},
      {{0, 9, 10, 4}, {4, 3, 3, 4}, {0, 7, 8, 4}, {}},
  };
  for (const Shapes& s : others)
    for (const cuda::Call& call : calls_of(s)) EXPECT_FALSE(cuda::has_tiled_conv2d(call)) << cat(s.x);
  for (cuda::Call call : calls_of(kTiledShapes[0])) {
    for (int i = 0; i < call.operands; ++i) {
      if (!call[i].defined) continue;
      cuda::Call other = call;
      cuda::Operand& operand = other.tensors[static_cast<std::size_t>(i)];
      operand.data = static_cast<float*>(operand.data) + 1;
      EXPECT_FALSE(cuda::has_tiled_conv2d(other)) << i;
      other = call;
      operand.dtype = DType::bf16;
      EXPECT_FALSE(cuda::has_tiled_conv2d(other)) << i;
      other = call;
      operand.strides[1] *= 2;
      EXPECT_FALSE(cuda::has_tiled_conv2d(other)) << i;
    }
    call.attributes.products = Products::rounded;
    EXPECT_FALSE(cuda::has_tiled_conv2d(call));
  }
}

TEST(DirectConv2d, IsSaidToBeSlowOnce) {
  FakeDevice device({.has_engines = false});
  results(device.backend, kShapes[0], DType::f32, DType::f32);
  results(device.backend, kShapes[0], DType::f32, DType::f32);
  const std::vector<std::string> lines = take_detours(device.backend);
  ASSERT_EQ(lines.size(), 3u);  // forward, and both gradients
  EXPECT_EQ(
      lines[0].find("conv2d goes by a kernel that is slow: there is no engine for it (conv2d (2, 3, 2, 4)"),
      0u)
      << lines[0];
  EXPECT_TRUE(take_detours(device.backend).empty());
}

}  // namespace
}  // namespace ronde::test
