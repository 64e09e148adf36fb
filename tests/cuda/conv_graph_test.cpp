// Every pattern of convolution that the two nets use finalises, without a GPU: what cuDNN does not know, or
// would not let us say, shows here.
#include <gtest/gtest.h>

#include "cuda/gpu/conv_graph.h"

namespace ronde::test {
namespace {

using cuda::Call;
using cuda::Op;

struct Layer {
  const char* name;
  std::int64_t size, channels, filters, padding;
};

const Layer kLayers[] = {{"MNIST 1", 28, 1, 32, 0},  {"MNIST 2", 26, 32, 64, 0}, {"CIFAR 1", 32, 3, 32, 1},
                         {"CIFAR 2", 32, 32, 32, 0}, {"CIFAR 3", 15, 32, 64, 1}, {"CIFAR 4", 15, 64, 64, 0}};

alignas(256) char memory[256];

cuda::Operand operand(std::initializer_list<std::int64_t> shape) {
  cuda::Operand x{.data = memory, .defined = true, .rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), x.shape.begin());
  return x;
}

struct Patterns {
  Call forward, plain, by_input, by_weight;
};

Patterns patterns_of(const Layer& layer, std::int64_t n) {
  const std::int64_t out = layer.size + 2 * layer.padding - 2;
  const cuda::Operand x = operand({n, layer.size, layer.size, layer.channels});
  const cuda::Operand weight = operand({layer.filters, 3, 3, layer.channels}),
                      bias = operand({layer.filters});
  const cuda::Operand y = operand({n, out, out, layer.filters});
  const Padding2d padding{layer.padding, layer.padding, layer.padding, layer.padding};
  const cuda::Attributes attributes{.epilogue = Epilogue::relu, .conv = {.padding = padding}};
  Patterns p{.forward = {Op::conv2d, 1, 4, {y, x, weight, bias}, attributes},
             .plain = {Op::conv2d, 1, 4, {y, x, weight}, attributes},
             .by_input = {Op::conv2d_backward_input, 1, 3, {x, y, weight}, attributes},
             .by_weight = {Op::conv2d_backward_weight, 2, 4, {weight, bias, y, x}, attributes}};
  p.plain.attributes.epilogue = Epilogue::none;
  return p;
}

TEST(ConvGraph, AllPatternsOfTheNetsFinalise) {
  for (const Layer& layer : kLayers)
    for (const std::int64_t n : {1, 32, 128}) {
      SCOPED_TRACE(std::string(layer.name) + ", batch " + std::to_string(n));
      const Patterns p = patterns_of(layer, n);
      for (const auto& [call, operations] :
           {std::pair{p.forward, 3}, {p.plain, 1}, {p.by_input, 1}, {p.by_weight, 1}}) {
        EXPECT_TRUE(cuda::is_for_cudnn(call));
        EXPECT_NO_THROW({
          const cuda::ConvGraph graph = cuda::make_conv_graph(call);
          EXPECT_EQ(graph.operations.size(), static_cast<std::size_t>(operations));
        });
      }
    }
}

// A tensor of an operation is an operand of the call or comes from the operation before.
TEST(ConvGraph, KnowsWhichTensorIsWhichOperand) {
  const Patterns p = patterns_of(kLayers[1], 16);
  EXPECT_EQ(cuda::make_conv_graph(p.forward).operands, (std::vector<int>{1, 2, -1, -1, 3, 0}));
  EXPECT_EQ(cuda::make_conv_graph(p.plain).operands, (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(cuda::make_conv_graph(p.by_weight).operands, (std::vector<int>{0, 2, 3}));
}

TEST(ConvGraph, WhatCudnnDoesNotTakeGoesElsewhere) {
  const Call good = patterns_of(kLayers[1], 16).forward;
  std::vector<Call> others(4, good);
  others[0].tensors[1].dtype = DType::f64;
  others[1].tensors[1].shape[0] = 0;
  others[2].tensors[1].data = memory + 4;
  others[3].attributes.conv.groups = 2;
  for (const Call& other : others) EXPECT_FALSE(cuda::is_for_cudnn(other));
}

TEST(ConvGraph, SaysWhatCudnnSays) {
  Call wrong = patterns_of(kLayers[1], 16).forward;
  wrong.tensors[2].shape[3] = 31;  // channels that the image has not
  try {
    cuda::make_operation_graph(cuda::make_conv_graph(wrong), nullptr);
    ADD_FAILURE() << "no error";
  } catch (const cuda::GpuError& error) {
    EXPECT_NE(std::string(error.what()).find("cuDNN, "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ronde::test
