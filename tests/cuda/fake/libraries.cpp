#include "cuda/fake/libraries.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cuda/emulated/run_kernel.h"
#include "cuda/fake/oracle.h"

namespace ronde::test {

namespace {

using cuda::Call;
using cuda::Op;
using cuda::Operand;
using cuda::Place;
using Behind = std::function<void*(const void*)>;

void add_bias_gradient(const Call& call, const Behind& behind) {
  const Operand &bias = call[1], &grad = call[2];
  const std::int64_t channels = std::max<std::int64_t>(1, bias.count());
  std::vector<double> scratch(cuda::bias_workspace(grad.count() / channels, channels) / sizeof(double));
  const Call sums{.op = call.op, .outputs = 1, .operands = 2, .tensors = {bias, grad}};
  run_on_kernels(sums, behind, [&](const Call& c, const Place& place) {
    cuda::run_bias_gradient(c[0], c[1], scratch.data(), place);
  });
}

// The product goes to scratch memory in float where the result is bf16, and is rounded with its bias.
void multiply_then_finish(const Call& call, CpuBackend& oracle, const Behind& behind) {
  Call product = call;
  product.op = Op::matmul;
  product.operands = 3;
  Operand& result = product.tensors[0];
  std::vector<float> scratch;
  if (result.dtype == DType::bf16) {
    scratch.resize(static_cast<std::size_t>(result.count()));
    result.dtype = DType::f32;
    result.data = scratch.data();
  }
  const auto anywhere = [&](const void* memory) {
    return memory == scratch.data() ? const_cast<void*>(memory) : behind(memory);
  };
  run_on_oracle(product, oracle, anywhere);
  Call epilogue = call;
  epilogue.tensors[1] = result;
  run_on_kernels(epilogue, anywhere,
                 [&](const Call& c, const Place& place) { cuda::run_epilogue(c, c[1], place); });
}

bool has_epilogue(const Call& call) {
  return call.op == Op::dense && (call[3].defined || call[4].defined);
}

}  // namespace

bool is_convolution(Op op) {
  return op == Op::conv2d || op == Op::conv2d_backward_input || op == Op::conv2d_backward_weight;
}

void run_planned(const Call& call, CpuBackend& oracle, const Behind& behind, bool libraries) {
  Call rest = call;
  const bool is_gradient = call.op == Op::conv2d_backward_weight || call.op == Op::dense_backward_weight;
  if (is_gradient && call[1].defined) {
    add_bias_gradient(call, behind);
    rest.tensors[1] = {};
  }
  if (!libraries && cuda::has_few_taps(rest))
    run_on_kernels(rest, behind, [](const Call& c, const Place& place) {
      std::vector<double> partial(cuda::few_taps_workspace(c) / sizeof(double));
      cuda::run_few_taps(c, partial.data(), place);
    });
  else if (!libraries && is_convolution(call.op) && cuda::has_tiled_conv2d(rest))
    run_on_kernels(rest, behind, [](const Call& c, const Place& place) {
      constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();  // nobody has written there
      std::vector<float> workspace(cuda::tiled_conv2d_workspace(c) / sizeof(float), kNothing);
      cuda::run_tiled_conv2d(c, workspace.data(), place);
    });
  else if (!libraries && is_convolution(call.op))
    run_on_kernels(rest, behind, cuda::run_direct_conv2d);
  else if (!libraries && has_epilogue(call) && call[0].count() > 0)
    multiply_then_finish(call, oracle, behind);
  else
    run_on_oracle(rest, oracle, behind);
}

}  // namespace ronde::test
