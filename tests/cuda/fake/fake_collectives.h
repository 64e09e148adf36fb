/// FakeCollectives: NCCL for tests. Ranks are fake devices of one process or of several.
///
/// A call waits on its stream for the other ranks' devices, whose hosts need not be waiting for anything:
/// while a device is in a group, a thread keeps it going. It adds up in rank order. The ranks' calls have to
/// be the same, in the same order; where they are not, all lose their device. What it can be told to do wrong
/// is in FakeOptions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda/collectives.h"
#include "cuda/fake/scheduler.h"

namespace ronde::test {

class FakeRuntime;

class FakeCollectives final : public cuda::Collectives {
 public:
  using Status = cuda::Status;

  explicit FakeCollectives(FakeRuntime& runtime) : runtime_(runtime) {}
  ~FakeCollectives() override;

  Status make_id(cuda::GroupId* id) override;
  Status join(const cuda::GroupId& id, int rank, int size, cuda::Group* group) override;
  Status progress(cuda::Group group) override;
  Status enqueue(cuda::Group group, const cuda::GroupCall& call, cuda::Stream stream) override;
  Status enroll(cuda::Group group, void* memory, std::size_t bytes, void** handle) override;
  Status enroll_window(cuda::Group group, void* memory, std::size_t bytes, void** handle) override;
  Status withdraw(cuda::Group group, void* handle) override;
  Status allocate(std::size_t bytes, void** memory) override;
  Status release(void* memory) override;
  Status cancel(cuda::Group group) override;
  Status leave(cuda::Group group) override;

  std::int64_t calls() const { return calls_; }
  int enrolled() const { return enrolled_; }
  /// Open ones; how many were opened so far; what all that were not given back take.
  int windows() const { return windows_; }
  int opened() const { return opened_; }
  std::size_t window_memory();

 private:
  void keep_going();
  std::int64_t place_of(const cuda::GroupCall& call);

  FakeRuntime& runtime_;
  std::atomic<std::int64_t> calls_ = 0;
  std::atomic<int> enrolled_ = 0, windows_ = 0, opened_ = 0, groups_ = 0;
  std::atomic<bool> is_over_ = false;
  struct Block {
    std::size_t bytes = 0;
    bool is_open = false;
  };

  std::mutex mutex_;
  std::map<const void*, Block> blocks_;                // for windows
  std::vector<std::shared_ptr<cuda::GroupTag>> left_;  // the device may still hold calls of them
  std::thread thread_;
};

}  // namespace ronde::test
