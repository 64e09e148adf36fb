/// CapturedStep: work on a device that is given once and repeated as one graph.
///
///     CapturedStep step(backend);
///     for (...) {
///       input.copy_from(batch);                     // what varies lies in tensors made before
///       step.run([&] { backend.matmul(...); });     // runs twice, is captured and run, then is repeated
///     }
///
/// The body must do the same each time: kernels on the same tensors. Values that change belong in device
/// memory. What it allocates lies in memory of its own, so that addresses stay; tensors that it leaves behind
/// hold the values of the latest run. When the body waits for the device, copies from the host or needs
/// memory anew while it is captured, it stays as it is, run each time, and `fallback` says why. Not thread
/// safe.
#pragma once

#include <functional>
#include <string>

#include "cuda/cuda_backend.h"

namespace ronde::inline v0::cuda {

class CapturedStep {
 public:
  explicit CapturedStep(CudaBackend& backend) : backend_(backend) {}
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// Whether the body was called.
  bool run(const std::function<void()>& body);

  bool is_captured() const { return graph_ != nullptr; }
  /// Empty while nothing stood in the way.
  const std::string& fallback() const { return fallback_; }

 private:
  /// The second one frees what the first one left behind: then there is memory for all that comes.
  static constexpr int kRehearsals = 2;

  void run_with_own_memory(const std::function<void()>& body);
  void capture(const std::function<void()>& body);

  CudaBackend& backend_;
  DeviceAllocator::Pool pool_;
  Graph graph_ = nullptr;
  int rehearsals_ = 0;
  std::string fallback_;
};

}  // namespace ronde::inline v0::cuda
