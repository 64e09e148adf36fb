#include "cuda/gpu/captured_graph.h"

#include <cstddef>
#include <vector>

#include <cuda_runtime.h>

namespace ronde::inline v0::cuda {

namespace {

constexpr unsigned kThreadsOfFill = 256, kMostBlocks = 1024;

template <class T>
__global__ void fill_rows_kernel(char* memory, std::size_t pitch, std::size_t width, std::size_t height,
                                 unsigned value) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < width * height; i += step)
    reinterpret_cast<T*>(memory + i / width * pitch)[i % width] = static_cast<T>(value);
}

void* kernel_of(unsigned element_size) {
  switch (element_size) {
    case 1:
      return reinterpret_cast<void*>(fill_rows_kernel<unsigned char>);
    case 2:
      return reinterpret_cast<void*>(fill_rows_kernel<unsigned short>);
    default:
      return reinterpret_cast<void*>(fill_rows_kernel<unsigned>);
  }
}

struct Edges {
  std::vector<cudaGraphNode_t> nodes;
  std::vector<cudaGraphEdgeData> data;
};

using NeighboursOf = cudaError_t(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*, std::size_t*);

cudaError_t find_edges(NeighboursOf* neighbours_of, cudaGraphNode_t node, Edges& edges) {
  std::size_t count = 0;
  if (const cudaError_t error = neighbours_of(node, nullptr, nullptr, &count); error != cudaSuccess)
    return error;
  edges.nodes.resize(count);
  edges.data.resize(count);
  return count == 0 ? cudaSuccess : neighbours_of(node, edges.nodes.data(), edges.data.data(), &count);
}

cudaError_t add_kernel(cudaGraph_t graph, cudaMemsetParams fill, cudaGraphNode_t* node) {
  const std::size_t elements = fill.width * fill.height;
  const std::size_t blocks = (elements + kThreadsOfFill - 1) / kThreadsOfFill;
  void* arguments[] = {&fill.dst, &fill.pitch, &fill.width, &fill.height, &fill.value};
  cudaKernelNodeParams kernel{};
  kernel.func = kernel_of(fill.elementSize);
  kernel.gridDim = dim3(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks));
  kernel.blockDim = dim3(kThreadsOfFill);
  kernel.kernelParams = arguments;
  return cudaGraphAddKernelNode(node, graph, nullptr, 0, &kernel);
}

cudaError_t replace_fill(cudaGraph_t graph, cudaGraphNode_t old) {
  cudaMemsetParams fill{};
  Edges before, after;
  cudaGraphNode_t node = nullptr;
  cudaError_t error = cudaGraphMemsetNodeGetParams(old, &fill);
  if (error == cudaSuccess && fill.width * fill.height == 0) return error;
  if (error == cudaSuccess) error = find_edges(cudaGraphNodeGetDependencies, old, before);
  if (error == cudaSuccess) error = find_edges(cudaGraphNodeGetDependentNodes, old, after);
  if (error == cudaSuccess) error = add_kernel(graph, fill, &node);
  const std::vector<cudaGraphNode_t> to_node(before.nodes.size(), node), from_node(after.nodes.size(), node);
  if (error == cudaSuccess && !before.nodes.empty())
    error = cudaGraphAddDependencies(graph, before.nodes.data(), to_node.data(), before.data.data(),
                                     to_node.size());
  if (error == cudaSuccess && !after.nodes.empty())
    error = cudaGraphAddDependencies(graph, from_node.data(), after.nodes.data(), after.data.data(),
                                     from_node.size());
  return error == cudaSuccess ? cudaGraphDestroyNode(old) : error;
}

cudaError_t replace_fills(cudaGraph_t graph) {
  std::size_t count = 0;
  cudaError_t error = cudaGraphGetNodes(graph, nullptr, &count);
  std::vector<cudaGraphNode_t> nodes(count);
  if (error == cudaSuccess) error = cudaGraphGetNodes(graph, nodes.data(), &count);
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    if (error == cudaSuccess) error = cudaGraphNodeGetType(node, &type);
    if (error == cudaSuccess && type == cudaGraphNodeTypeMemset) error = replace_fill(graph, node);
  }
  return error;
}

}  // namespace

cudaError_t end_capture(cudaStream_t stream, cudaGraphExec_t* graph) {
  cudaGraph_t captured = nullptr;
  cudaError_t error = cudaStreamEndCapture(stream, &captured);
  if (error == cudaSuccess) error = replace_fills(captured);
  if (error == cudaSuccess) error = cudaGraphInstantiate(graph, captured, 0);
  if (captured) cudaGraphDestroy(captured);
  return error;
}

}  // namespace ronde::inline v0::cuda
