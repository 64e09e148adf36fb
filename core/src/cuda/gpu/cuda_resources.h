/// CUDA's runtime in RAII, for the module's own use.
#pragma once

#include <cstddef>

#include "cuda/gpu/captured_graph.h"
#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

/// One that can be timed.
class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreate(&event_), "an event"); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// What `run` gives a stream, as a graph.
class CudaGraph {
 public:
  template <class Run>
  CudaGraph(cudaStream_t stream, const Run& run) {
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
    try {
      run();
    } catch (...) {
      end_capture(stream, &graph_);
      destroy();
      throw;
    }
    check_cuda(end_capture(stream, &graph_), "capturing");
  }
  ~CudaGraph() { destroy(); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  cudaGraphExec_t get() const { return graph_; }

 private:
  void destroy() {
    if (graph_) cudaGraphExecDestroy(graph_);
  }

  cudaGraphExec_t graph_ = nullptr;
};

class CudaMemory {
 public:
  explicit CudaMemory(std::size_t bytes) {
    if (bytes > 0 && cudaMalloc(&memory_, bytes) != cudaSuccess)
      throw GpuError("no memory for trials", Outcome::out_of_memory);
  }
  ~CudaMemory() { cudaFree(memory_); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

}  // namespace ronde::inline v0::cuda
