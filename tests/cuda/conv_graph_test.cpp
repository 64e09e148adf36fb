// Every pattern of convolution that the nets use finalises, in f32 and in mixed precision, without a GPU:
// what cuDNN does not know, or would not let us say, shows here.
#include <gtest/gtest.h>

#include "cuda/conv_patterns.h"
#include "cuda/gpu/conv_graph.h"
#include "cuda/takes_bfloat16.h"

namespace ronde::test {
namespace {

using cuda::Call;

TEST(ConvGraph, AllPatternsOfTheNetsFinalise) {
  for (const Layer& layer : kLayers)
    for (const std::int64_t n : {1, 32, 128})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        SCOPED_TRACE(std::string(layer.name) + ", batch " + std::to_string(n) + ", " + to_string(dtype));
        const Patterns p = patterns_of(layer, n, dtype);
        const int by_weight = dtype == DType::f32 ? 1 : 2;  // the gradient, and that it stays f32
        for (const auto& [call, operations] :
             {std::pair{p.forward, 3}, {p.plain, 1}, {p.by_input, 1}, {p.by_weight, by_weight}}) {
          EXPECT_TRUE(cuda::is_for_cudnn(call));
          EXPECT_TRUE(cuda::takes_bfloat16(call));
          EXPECT_NO_THROW({
            const cuda::ConvGraph graph = cuda::make_conv_graph(call);
            EXPECT_EQ(graph.operations.size(), static_cast<std::size_t>(operations));
          });
        }
      }
}

// Of the tensors among its parts, in their order.
std::vector<cudnnDataType_t> types_of(const Call& call) {
  const cuda::ConvGraph graph = cuda::make_conv_graph(call);
  std::vector<cudnnDataType_t> types;
  for (const cuda::CudnnDescriptor& part : graph.parts) {
    cudnnDataType_t type{};
    std::int64_t count = 0;
    if (cudnnBackendGetAttribute(part.get(), CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &count,
                                 &type) == CUDNN_STATUS_SUCCESS)
      types.push_back(type);
  }
  return types;
}

// Images, weights and biases are bf16; the gradient of a weight and what is between two operations are not.
TEST(ConvGraph, TensorsHaveTheDtypesOfTheCall) {
  using Types = std::vector<cudnnDataType_t>;
  const cudnnDataType_t single = CUDNN_DATA_FLOAT, rounded = CUDNN_DATA_BFLOAT16;
  const Patterns mixed = patterns_of(kLayers[1], 16, DType::bf16);
  EXPECT_EQ(types_of(mixed.forward), (Types{rounded, rounded, single, single, rounded, rounded}));
  EXPECT_EQ(types_of(mixed.by_input), (Types{rounded, rounded, rounded}));
  EXPECT_EQ(types_of(mixed.by_weight), (Types{single, rounded, rounded, single}));
  EXPECT_EQ(types_of(patterns_of(kLayers[1], 16).forward), Types(6, single));
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
  others[2].tensors[1].data = memory_of_operands + 4;
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
