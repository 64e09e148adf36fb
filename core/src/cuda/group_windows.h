/// GroupWindows: memory of a group that the devices of all ranks read and write, so that a sum is one kernel
/// that fetches what it adds, or NVLink's switch that adds up.
///
/// Note [Windows]: the memory is the library's, not the allocator's. A tensor has it, which may live longer
/// than the group: the window is closed when the first of the two goes, the memory given back with the
/// tensor. Both only when the device is done with all that it was given, because the other ranks read here;
/// a call that has run here is over for them too. While an error unwinds nobody waits, as what is under way
/// may never end: then it is done with the next window, or with the group.
///
/// Gradients lie in a window where all ranks have memory for one, which they tell each other by their hosts
/// (NcclCommunicator::shared_tensor); else, as with RONDE_NCCL_WINDOWS=off, all register ordinary memory. One
/// that cannot be opened after that ends the job, as NCCL has no way back from there.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "cuda/cuda_backend.h"

namespace ronde::inline v0::cuda {

class GroupWindows {
 public:
  /// `stream` is the group's.
  GroupWindows(CudaBackend& backend, Collectives& collectives, Stream stream)
      : backend_(backend), collectives_(collectives), stream_(stream) {}

  /// nullptr where this rank can have no window.
  void* allocate(Group group, std::size_t bytes);
  /// By all ranks. Goes on until `progress` says that it is done.
  Status open(Group group, void* memory, std::size_t bytes);
  /// Nobody on the host has the memory any more. `group` is none where it has ended.
  void release(Group group, void* memory);
  /// All that are open, before the group ends.
  void close(Group group);
  /// Gives back what was released and could not be given back then.
  void collect(Group group);

 private:
  struct Window {
    void* memory;
    void* handle = nullptr;  ///< what the library knows an open one by
    bool is_released = false;
  };

  // `mutex_` is held in all of these.
  Window& at(const void* memory);
  void give_back_released(Group group);
  bool give_back(Group group, Window& window);

  CudaBackend& backend_;
  Collectives& collectives_;
  Stream stream_;
  std::mutex mutex_;
  std::vector<Window> windows_;
};

}  // namespace ronde::inline v0::cuda
