/// FakeRuntime: a device for tests, behind the same interface as a GPU.
///
/// It computes with Ronde's own kernels, emulated, and with the CPU's oracle for libraries (libraries.h),
/// late and in a random legal order (scheduler.h); its memory cannot be read by the host and starts as NaNs
/// (device_memory.h). It refuses what a GPU would let pass to wrong numbers: a missing event, an operand
/// outside its block, memory given back while it is in use, a copy from memory that is not pinned; and all
/// that must not happen inside a capture. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "backend/cpu/cpu_backend.h"
#include "cuda/fake/device_memory.h"
#include "cuda/fake/fake_collectives.h"
#include "cuda/fake/scheduler.h"
#include "cuda/runtime.h"

namespace ronde::test {

struct FakeOptions {
  std::uint64_t seed = 1;
  std::size_t memory = std::size_t{2} << 30;
  // Launches are counted from 1; 0: none.
  std::int64_t failing_launch = 0;  ///< fails when it runs, as a bad address on a GPU would
  std::int64_t hanging_launch = 0;  ///< never ends
  std::int64_t delayed_launch = 0;  ///< ends late
  std::int64_t failing_graph = 0;   ///< of the captures: the device has no memory for its graph
  // The same for calls of several ranks.
  bool has_windows = true;            ///< whether the library knows them
  bool failing_window = false;        ///< opening one does not work
  std::int64_t failing_exchange = 0;  ///< an asynchronous error
  std::int64_t hanging_exchange = 0;
  std::int64_t delayed_exchange = 0;
  /// The device takes no notice of `wait`: every test of an order has to fail.
  bool is_deaf = false;
  std::string id = "fake:0";   ///< of the hardware
  bool computes = true;        ///< false: kernels are checked and counted, and their results stay NaN
  bool has_engines = true;     ///< false: its libraries leave to our kernels all that those can do
  bool plans_bfloat16 = true;  ///< false: its libraries have nothing for bf16
  bool likes_floats = false;   ///< true: its libraries are better with float copies, in gradients of weights
  std::function<void(const cuda::Call&)> on_launch = {};  ///< is told of each
  std::function<void()> on_wait = {};  ///< is called ahead of each `wait`, and may use the device
};

class FakeRuntime final : public cuda::Runtime {
 public:
  using Status = cuda::Status;

  explicit FakeRuntime(FakeOptions options = {});
  ~FakeRuntime() override;

  /// As if somebody pulled it out: what waits for it ends with an error.
  void lose(const std::string& why);
  /// Goes on by itself, as a device does; for FakeCollectives, as what follows.
  void nudge();
  struct RankBuffers {
    const void* in;
    std::size_t in_bytes;
    void* out;
    std::size_t out_bytes;
  };
  using MakeOperation = std::function<Operation(const void* in, void* out)>;
  /// `make` gets where the bytes are, each time that the operation is repeated; `fail` is run instead of it.
  Status give_to_ranks(cuda::Stream stream, std::int64_t number, const RankBuffers& buffers,
                       const MakeOperation& make, const std::function<void()>& fail);
  FakeCollectives& ranks() { return collectives_; }
  const FakeOptions& options() const { return options_; }
  /// Why a block must stay: something that may not have run yet uses it, or a graph; empty: it need not.
  std::string user_of(const void* block);
  /// This thread is in the middle of a capture.
  bool captures() {
    const std::lock_guard lock(mutex_);
    return is_capturing();
  }
  /// Memory that was not given back.
  std::size_t memory_in_use() const { return memory_.in_use(); }
  std::int64_t launches() const { return launches_; }
  std::int64_t prepared() const { return prepared_; }
  /// Of the latest plan.
  cuda::MathOptions math() const { return math_; }
  std::int64_t replays() const { return replays_; }
  std::size_t bytes_to_device() const { return bytes_to_device_; }
  std::int64_t uploads() const { return uploads_; }
  /// Copies to the host, each of which somebody waits for.
  std::int64_t reads() const { return reads_; }

  const cuda::DeviceFacts& facts() const override { return facts_; }
  cuda::Collectives* collectives() override { return &collectives_; }
  void give_up(const char* why) override { lose(why); }
  Status allocate(std::size_t bytes, void** memory) override;
  Status release(void* memory) override;
  Status allocate_pinned(std::size_t bytes, void** memory) override;
  Status release_pinned(void* memory) override;
  Status discard(void* memory, std::size_t bytes, cuda::Stream stream) override;
  Status create_stream(cuda::Stream* stream) override;
  Status destroy_stream(cuda::Stream stream) override;
  Status create_event(cuda::Event* event) override;
  Status destroy_event(cuda::Event event) override;
  Status record(cuda::Event event, cuda::Stream stream) override;
  Status wait(cuda::Stream stream, cuda::Event event) override;
  Status query(cuda::Event event) override;
  Status complaint() override;
  Status copy(void* to, const void* from, std::size_t bytes, cuda::CopyKind kind,
              cuda::Stream stream) override;
  Status prepare(const cuda::Call& call, const cuda::MathOptions& math, cuda::Plan* plan,
                 std::size_t* workspace) override;
  Status forget(cuda::Plan plan) override;
  Status launch(const cuda::Call& call, cuda::Plan plan, void* workspace, cuda::Stream stream) override;
  Status begin_capture(cuda::Stream stream) override;
  Status end_capture(cuda::Stream stream, cuda::Graph* graph) override;
  Status replay(cuda::Graph graph, cuda::Stream stream) override;
  Status destroy_graph(cuda::Graph graph) override;

 private:
  struct FakeEvent {
    Scheduler::Mark mark;
    bool in_capture = false;
    std::int64_t capture = 0;  ///< which one
    Scheduler::Mark in_order;  ///< the same in Capture::order
    std::size_t noted = 0;     ///< operations of its stream in the capture up to it
  };
  struct Capture {
    std::size_t origin = 0;
    std::map<std::size_t, std::size_t> noted;   ///< operations of each stream that takes part
    std::map<std::size_t, std::size_t> joined;  ///< of them, those that the origin waits for
    std::vector<Operation> operations;
    Scheduler order{0};  ///< runs nothing: whether branches of the graph use the same memory
    std::string broken;                                   ///< why there will be no graph
    std::thread::id thread = std::this_thread::get_id();  ///< whose the rules are
  };

  // `mutex_` is held in all of these.
  Status refuse(const std::string& why);
  Status break_capture(const std::string& what);
  /// Whether this thread is in the middle of a capture.
  bool is_capturing() const { return capture_ && capture_->thread == std::this_thread::get_id(); }
  bool has_broken_capture(cuda::Stream stream) const;
  Status lost();
  Status give(cuda::Stream stream, Operation operation);
  Access access(const void* memory, std::size_t bytes, bool writes) const;
  bool is_pinned(const void* memory, std::size_t bytes) const;
  std::string find_user(const void* block) const;
  std::string check_operands(const cuda::Call& call) const;
  static void run_kernels(const cuda::Call& call, const std::function<void*(const void*)>& behind);
  Operation operation_of(const cuda::Call& call, void* workspace, std::size_t workspace_bytes);

  std::mutex mutex_;
  FakeOptions options_;
  cuda::DeviceFacts facts_;
  CpuBackend oracle_;
  DeviceMemory memory_;
  Scheduler scheduler_;
  std::map<const char*, std::size_t> pinned_;
  std::map<cuda::Event, std::unique_ptr<FakeEvent>> events_;
  std::map<cuda::Graph, std::unique_ptr<std::vector<Operation>>> graphs_;
  std::unique_ptr<Capture> capture_;
  std::int64_t launches_ = 0, prepared_ = 0, captures_ = 0, replays_ = 0, reads_ = 0, uploads_ = 0;
  std::size_t bytes_to_device_ = 0;
  cuda::MathOptions math_ = {};
  FakeCollectives collectives_{*this};  // the last, whose thread uses all else
};

}  // namespace ronde::test
