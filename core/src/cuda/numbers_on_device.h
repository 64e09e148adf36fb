/// NumbersOnDevice: the numbers of the optimizer steps in a repeated body, in device memory, where the
/// kernels of a graph read them: a block for each call, in the order of the calls.
///
/// A number that stays the same from step to step is sent once: then the host has nothing to do for it. Not
/// thread safe.
#pragma once

#include <vector>

#include "cuda/cuda_backend.h"

namespace ronde::inline v0::cuda {

class NumbersOnDevice {
 public:
  explicit NumbersOnDevice(CudaBackend& backend) : backend_(backend) {}
  /// Where a graph reads them, that has to be gone.
  ~NumbersOnDevice();
  NumbersOnDevice(const NumbersOnDevice&) = delete;
  NumbersOnDevice& operator=(const NumbersOnDevice&) = delete;

  /// The body begins again.
  void rewind() { next_ = 0; }
  /// Where the next call finds its numbers; `send` brings them there.
  const StepNumbers* next(const StepNumbers& numbers);
  /// What has changed since it was sent; not in a capture.
  void send();
  /// Blocks that were sent so far.
  std::size_t sent() const { return sent_; }

 private:
  struct Block {
    void* memory = nullptr;
    StepNumbers numbers = {};
    bool is_sent = false;
  };

  CudaBackend& backend_;
  std::vector<Block> blocks_;
  std::size_t next_ = 0, sent_ = 0;
};

}  // namespace ronde::inline v0::cuda
