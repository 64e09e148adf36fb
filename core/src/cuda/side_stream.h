/// SideStream: kernels of a repeated step that run beside the others.
///
/// What a gradient of weights computes nobody reads before the update, while the gradients of inputs are what
/// each layer waits for. Alone, many of either leave parts of the device idle. So those of weights, and what
/// else is computed for the step's end alone, go to a stream of their own, behind what the main stream was
/// given so far; the main stream waits for them before it is given a kernel that reads or writes what they
/// write, or writes what they read, and at the step's end.
///
/// What they use stays lent until then, or the main stream would get it for something else; past so many
/// bytes it waits earlier. Not thread safe.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <ronde/core/tensor.h>

#include "cuda/device_allocator.h"
#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

/// Scratch memory of one call: what comes after it on the stream may have it.
class Workspace {
 public:
  Workspace(DeviceAllocator& allocator, std::size_t bytes)
      : allocator_(allocator), memory_(allocator.allocate(bytes)) {}
  ~Workspace() { allocator_.deallocate(memory_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* memory() const { return memory_; }

 private:
  DeviceAllocator& allocator_;
  void* memory_;
};

class SideStream {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{1} << 30;

  SideStream(Runtime& runtime, DeviceAllocator& allocator, Stream main, std::size_t most_held = kMostHeld)
      : runtime_(runtime), allocator_(allocator), main_(main), most_held_(most_held) {}
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Whether it is likely that nobody waits for it: of what a step computes once, or for its end.
  static bool takes(const Call& call);
  /// `tensors` are the call's.
  void launch(const Call& call, Plan plan, std::size_t workspace, std::span<const Tensor* const> tensors);
  /// To be called before the main stream is given this.
  void let_pass(const Call& call) {
    if (!held_.empty() && is_in_the_way(call)) join();
  }
  /// What the main stream is given from now on comes after all that is here.
  void join();
  /// The same of a body that was broken off, whatever is the matter.
  void settle() noexcept;

 private:
  void forget();
  void open();
  struct Range {
    const char *begin, *end;
  };
  static Range range_of(const Operand& operand);
  static bool overlaps(const std::vector<Range>& ranges, const Operand& operand);
  bool is_in_the_way(const Call& call) const;

  Runtime& runtime_;
  DeviceAllocator& allocator_;
  Stream main_, side_ = nullptr;
  Event forked_ = nullptr, joined_ = nullptr;
  std::vector<Range> written_, read_;
  std::vector<Tensor> held_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::size_t held_bytes_ = 0, most_held_;
};

/// Those of a device, one for each step that is repeated; kept for the next. Thread safe.
class SideStreams {
 public:
  SideStreams(Runtime& runtime, DeviceAllocator& allocator, Stream main)
      : runtime_(runtime), allocator_(allocator), main_(main) {}
  std::unique_ptr<SideStream> take();
  void give_back(std::unique_ptr<SideStream> side);

 private:
  Runtime& runtime_;
  DeviceAllocator& allocator_;
  Stream main_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SideStream>> free_;
};

}  // namespace ronde::inline v0::cuda
