// Collectives by NCCL. Its communicators are non-blocking, so that no host hangs in it for a rank that does
// not come: a call returns at once, and ncclCommGetAsyncError tells how far it is.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <cuda_runtime_api.h>

#include "cuda/gpu/answer.h"
#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/nccl_library.h"
#include "cuda/gpu/rank_collectives.h"

namespace ronde::inline v0::cuda {

/// A call on a thread of its own, and whether it has come back. Note [Aborting]: NCCL's abort lets the device
/// go at once, but comes back only when all graphs with calls of the communicator are destroyed. These are
/// destroyed by who is told of the abort, so it must not hold that one up.
class CallApart {
 public:
  explicit CallApart(std::function<void()> call) : state_(std::make_shared<State>()) {
    std::thread([state = state_, call = std::move(call)] {
      call();
      const std::lock_guard lock(state->mutex);
      state->is_back = true;
      state->changed.notify_all();
    }).detach();
  }
  bool wait_for(std::chrono::seconds patience) const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, patience, [&] { return state_->is_back; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_back = false;
  };
  std::shared_ptr<State> state_;
};

/// Memory that was registered.
struct Enrolled {
  void* memory = nullptr;
  std::size_t bytes = 0;
  bool is_window = false;
  void* handle = nullptr;  // NCCL's; of a window written by its own thread, which is why it has a fixed place
};

/// One of NCCL's communicators.
struct GroupTag {
  std::mutex mutex;  // of NCCL's calls on it
  ncclComm_t comm = nullptr;
  std::list<Enrolled> enrolled;
  Enrolled* opening = nullptr;  // a window
  std::optional<CallApart> abort;
};

namespace {

constexpr std::chrono::seconds kPatience{10};  // with ranks that should be leaving too
constexpr std::chrono::milliseconds kPause{1};
constexpr int kSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC, of 2.27: offsets are the same on all ranks

Status status_of(ncclResult_t result, ncclComm_t comm) {
  if (result == ncclSuccess) return {};
  if (result == ncclInProgress) return {Outcome::not_ready, ""};
  std::string text = std::string("NCCL: ") + nccl().GetErrorString(result);
  const char* more = nccl().GetLastError(comm);
  if (more && *more) text += std::string(" (") + more + ')';
  return answer(Outcome::failed, text);
}

bool type_of(DType dtype, ncclDataType_t* type) {
  switch (dtype) {
    case DType::f32:
      *type = ncclFloat32;
      return true;
    case DType::f64:
      *type = ncclFloat64;
      return true;
    case DType::bf16:
      *type = ncclBfloat16;
      return true;
    case DType::u8:
      *type = ncclUint8;
      return true;
    case DType::i32:
      *type = ncclInt32;
      return true;
    case DType::i64:
      *type = ncclInt64;
      return true;
  }
  return false;
}

ncclRedOp_t operation_of(GroupReduction reduction) {
  switch (reduction) {
    case GroupReduction::average:
      return ncclAvg;
    case GroupReduction::min:
      return ncclMin;
    case GroupReduction::max:
      return ncclMax;
    case GroupReduction::product:
      return ncclProd;
    case GroupReduction::sum:
      break;
  }
  return ncclSum;
}

class NcclCollectives final : public Collectives {
 public:
  explicit NcclCollectives(int device) : device_(device) {}

  Status make_id(GroupId* id) override {
    static_assert(sizeof(ncclUniqueId) == sizeof(id->bytes));
    use();
    ncclUniqueId made;
    const Status status = status_of(nccl().GetUniqueId(&made), nullptr);
    if (status.ok()) std::memcpy(id->bytes.data(), &made, sizeof made);
    return status;
  }

  Status join(const GroupId& id, int rank, int size, Group* group) override {
    use();
    ncclUniqueId which;
    std::memcpy(&which, id.bytes.data(), sizeof which);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    auto made = std::make_unique<GroupTag>();
    const ncclResult_t result = nccl().CommInitRankConfig(&made->comm, size, which, rank, &config);
    const Status status = status_of(result, nullptr);
    if (status.ok() || status.outcome == Outcome::not_ready) *group = made.release();
    return status;
  }

  Status progress(Group group) override {
    const std::lock_guard lock(group->mutex);
    if (group->abort) return answer(Outcome::failed, "NCCL: the communicator was aborted");
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = nccl().CommGetAsyncError(group->comm, &state);
    const Status status = status_of(asked == ncclSuccess ? state : asked, group->comm);
    if (status.ok() && group->opening) opened(*group, *std::exchange(group->opening, nullptr));
    return status;
  }

  Status enqueue(Group group, const GroupCall& call, Stream stream) override {
    const std::lock_guard lock(group->mutex);
    if (group->abort) return answer(Outcome::failed, "NCCL: the communicator was aborted");
    ncclDataType_t type = ncclFloat32;
    if (!type_of(call.dtype, &type)) return answer(Outcome::unsupported, "NCCL knows no such numbers");
    use();
    const auto count = static_cast<std::size_t>(call.count);
    const cudaStream_t on = native(stream);
    const ncclRedOp_t operation = operation_of(call.reduction);
    switch (call.verb) {
      case GroupVerb::allreduce:
        return status_of(nccl().AllReduce(call.in, call.out, count, type, operation, group->comm, on),
                         group->comm);
      case GroupVerb::broadcast:
        return status_of(nccl().Broadcast(call.in, call.out, count, type, call.root, group->comm, on),
                         group->comm);
      case GroupVerb::allgather:
        return status_of(nccl().AllGather(call.in, call.out, count, type, group->comm, on), group->comm);
      case GroupVerb::reduce_scatter:
        return status_of(nccl().ReduceScatter(call.in, call.out, count, type, operation, group->comm, on),
                         group->comm);
    }
    return answer(Outcome::unsupported, "NCCL has no such call");
  }

  Status enroll(Group group, void* memory, std::size_t bytes, void** handle) override {
    const std::lock_guard lock(group->mutex);
    if (group->abort) return answer(Outcome::unsupported, "NCCL: the communicator was aborted");
    use();
    Enrolled& made = group->enrolled.emplace_back(Enrolled{memory, bytes});
    *handle = &made;
    const Status status = enroll_here(*group, made);
    return status.ok() ? status : answer(Outcome::unsupported, status.text);
  }

  // NCCL says ncclSuccess while its thread is still at it.
  Status enroll_window(Group group, void* memory, std::size_t bytes, void** handle) override {
    const std::lock_guard lock(group->mutex);
    if (group->abort) return answer(Outcome::failed, "NCCL: the communicator was aborted");
    use();
    Enrolled& made = group->enrolled.emplace_back(Enrolled{memory, bytes, true});
    *handle = group->opening = &made;
    return status_of(nccl().CommWindowRegister(group->comm, memory, bytes, &made.handle, kSymmetric),
                     group->comm);
  }

  Status withdraw(Group group, void* handle) override {
    const std::lock_guard lock(group->mutex);
    if (group->abort) return {};
    use();
    const auto gone =
        std::find_if(group->enrolled.begin(), group->enrolled.end(), [&](auto& e) { return &e == handle; });
    const Enrolled enrolled = *gone;
    group->enrolled.erase(gone);
    if (!enrolled.handle) return {};
    return status_of(enrolled.is_window ? nccl().CommWindowDeregister(group->comm, enrolled.handle)
                                        : nccl().CommDeregister(group->comm, enrolled.handle),
                     group->comm);
  }

  Status allocate(std::size_t bytes, void** memory) override {
    if (!nccl().has_windows) return answer(Outcome::unsupported, "NCCL has no windows before 2.27");
    use();
    const Status status = status_of(nccl().MemAlloc(memory, bytes), nullptr);
    if (!status.ok()) cudaGetLastError();  // it is told
    return status;
  }

  Status release(void* memory) override {
    use();
    return status_of(nccl().MemFree(memory), nullptr);
  }

  Status cancel(Group group) override {
    const std::lock_guard lock(group->mutex);
    if (!group->abort) group->abort.emplace(aborting(group->comm));
    return {};
  }

  Status leave(Group group) override {
    std::unique_ptr<GroupTag> gone(group);
    use();
    if (!group->abort) {
      Status status = status_of(nccl().CommFinalize(group->comm), group->comm);
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (status.outcome == Outcome::not_ready && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(kPause);
        status = progress(group);
      }
      if (status.ok()) return status_of(nccl().CommDestroy(group->comm), nullptr);
      group->abort.emplace(aborting(group->comm));
    }
    if (group->abort->wait_for(kPatience)) return {};
    gone.release();  // NCCL's threads may still write there
    return answer(Outcome::failed, "NCCL: no end of an abort");
  }

 private:
  void use() const { cudaSetDevice(device_); }
  static Status enroll_here(GroupTag& group, Enrolled& made) {
    return status_of(nccl().CommRegister(group.comm, made.memory, made.bytes, &made.handle), group.comm);
  }
  // Where devices do not reach each other there is no window, and from 2.29 on nothing is registered either.
  void opened(GroupTag& group, Enrolled& window) const {
    if (window.handle) return;
    window.is_window = false;
    use();
    enroll_here(group, window);
  }
  std::function<void()> aborting(ncclComm_t comm) const {
    return [device = device_, comm] {
      cudaSetDevice(device);
      nccl().CommAbort(comm);
    };
  }

  int device_;
};

}  // namespace

std::string why_no_collectives() {
  return nccl().problem.empty() ? "" : "it cannot be used: " + nccl().problem;
}

std::string collectives_version() {
  return nccl().problem.empty() ? "NCCL " + nccl().version : "";
}

std::unique_ptr<Collectives> make_collectives(int device) {
  return nccl().problem.empty() ? std::make_unique<NcclCollectives>(device) : nullptr;
}

}  // namespace ronde::inline v0::cuda
