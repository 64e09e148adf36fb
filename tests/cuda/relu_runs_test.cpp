// Batch normalisation or a sum and the relu behind it, one kernel on a GPU.
#include "cuda/fake_device.h"
#include "nn/relu_nets.h"

namespace ronde::test {
namespace {

struct ReluOutcome {
  std::vector<double> numbers;
  int relus = 0;  // kernels that are no more than that
};

using MakeNet = std::unique_ptr<Module> (*)();

ReluOutcome relus_on_device(MakeNet make, std::optional<DType> compute_dtype, std::int64_t channels) {
  ReluOutcome outcome;
  FakeDevice device({.on_launch = [&](const cuda::Call& call) {
    const bool is_unary = call.op == cuda::Op::unary || call.op == cuda::Op::unary_backward;
    if (is_unary && call.attributes.unary == UnaryOp::relu) ++outcome.relus;
  }});
  const std::unique_ptr<Module> net = make();
  outcome.numbers = numbers_of(*net, {.backend = &device.backend, .compute_dtype = compute_dtype}, channels);
  return outcome;
}

// Of 8 channels by packs, of 5 one by one. The graph has a pair that is none, for another layer takes the
// normalisation's result too.
TEST(NormRelu, IsOneKernelWithTheBitsOfTwo) {
  for (const std::optional<DType> compute_dtype : {std::optional<DType>(), std::optional(DType::bf16)})
    for (const std::int64_t channels : {8, 5}) {
      const ReluOutcome one = relus_on_device(norm_relu_graph<ReLU>, compute_dtype, channels);
      const ReluOutcome two = relus_on_device(norm_relu_graph<OwnRelu>, compute_dtype, channels);
      EXPECT_EQ(one.numbers, two.numbers);
      EXPECT_EQ(two.relus - one.relus, 3 * 3);  // pairs, each forward, backward and in inference
    }
}

// The gradient goes through the relu by a kernel of its own there.
TEST(NormRelu, FrozenToo) {
  for (const std::optional<DType> compute_dtype : {std::optional<DType>(), std::optional(DType::bf16)}) {
    const ReluOutcome one = relus_on_device(frozen_norm_relu_graph<ReLU>, compute_dtype, 8);
    const ReluOutcome two = relus_on_device(frozen_norm_relu_graph<OwnRelu>, compute_dtype, 8);
    EXPECT_EQ(one.numbers, two.numbers);
    EXPECT_EQ(two.relus - one.relus, 3 * 2);  // pairs, each forward and in inference
  }
}

TEST(NormRelu, InASequentialToo) {
  const ReluOutcome one = relus_on_device(norm_relu_sequence<ReLU>, {}, 8);
  const ReluOutcome two = relus_on_device(norm_relu_sequence<OwnRelu>, {}, 8);
  EXPECT_EQ(one.numbers, two.numbers);
  EXPECT_EQ(two.relus - one.relus, 2 * 3);
}

// The gradient of a sum is that of the relu, shared: it is one kernel anyway.
TEST(AddRelu, IsOneKernelWithTheBitsOfTwo) {
  for (const std::optional<DType> compute_dtype : {std::optional<DType>(), std::optional(DType::bf16)})
    for (const std::int64_t channels : {8, 5}) {
      const ReluOutcome one = relus_on_device(add_relu_graph<ReLU>, compute_dtype, channels);
      const ReluOutcome two = relus_on_device(add_relu_graph<OwnRelu>, compute_dtype, channels);
      EXPECT_EQ(one.numbers, two.numbers);
      EXPECT_EQ(two.relus - one.relus, 2 * 2);  // pairs, each forward and in inference
    }
}

}  // namespace
}  // namespace ronde::test
