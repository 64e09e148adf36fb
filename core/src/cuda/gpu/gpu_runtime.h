/// GpuRuntime: one GPU, by CUDA, cuDNN, cuBLASLt and our own kernels.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn_graph.h>

#include "cuda/gpu/conv_plan.h"
#include "cuda/gpu/kernels.h"
#include "cuda/gpu/rank_collectives.h"
#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

DeviceFacts facts_of(int device);

class GpuRuntime final : public Runtime {
 public:
  /// Throws GpuError.
  explicit GpuRuntime(int device);
  ~GpuRuntime() override;

  const DeviceFacts& facts() const override { return facts_; }
  Collectives* collectives() override { return collectives_.get(); }
  void give_up(const char* why) override;
  Status allocate(std::size_t bytes, void** memory) override;
  Status release(void* memory) override;
  Status allocate_pinned(std::size_t bytes, void** memory) override;
  Status release_pinned(void* memory) override;
  Status discard(void*, std::size_t, Stream) override { return {}; }
  Status create_stream(Stream* stream) override;
  Status destroy_stream(Stream stream) override;
  Status create_event(Event* event) override;
  Status destroy_event(Event event) override;
  Status record(Event event, Stream stream) override;
  Status wait(Stream stream, Event event) override;
  Status query(Event event) override;
  Status complaint() override;
  Status copy(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream stream) override;
  Status prepare(const Call& call, const MathOptions& math, Plan* plan, std::size_t* workspace) override;
  Status forget(Plan plan) override;
  Status launch(const Call& call, Plan plan, void* workspace, Stream stream) override;
  Status begin_capture(Stream stream) override;
  Status end_capture(Stream stream, Graph* graph) override;
  Status replay(Graph graph, Stream stream) override;
  Status destroy_graph(Graph graph) override;

 private:
  /// What became of enqueueing something that throws GpuErrors.
  template <class Enqueue>
  Status enqueued(const Enqueue& enqueue) const;
  /// Each thread of the host has a current device.
  void use() const { cudaSetDevice(device_); }
  Status result(cudaError_t error) const;
  /// What everything answers once somebody gave the device up.
  Status lost() const;
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }

  int device_;
  DeviceFacts facts_;
  Cudnn cudnn_;
  cublasLtHandle_t cublas_ = nullptr;
  cudaStream_t tuning_ = nullptr;   ///< candidates are timed on it
  Complaint* complaint_ = nullptr;  ///< the host's address
  Complaint* complaint_on_device_ = nullptr;
  std::mutex planning_;
  std::unique_ptr<Collectives> collectives_;
  mutable std::mutex giving_up_;
  std::string why_lost_;
  std::atomic<bool> is_lost_ = false;
};

}  // namespace ronde::inline v0::cuda
