#include "cuda/fake/fake_collectives.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "cuda/fake/fake_runtime.h"
#include "cuda/fake/rank_memory.h"

namespace ronde::inline v0::cuda {

struct GroupTag {
  GroupTag(const std::string& name, int rank_in, int size_in)
      : memory(name, rank_in, size_in), rank(rank_in), size(size_in) {}

  test::RankMemory memory;
  int rank, size;
  std::int64_t begun = 0;                                // calls that the device has come to
  const void* under_way = nullptr;                       // the call that it is at
  std::int64_t given = 0;                                // calls that the host has made
  std::atomic<std::int64_t> windows = 0;                 // that the host has begun to open
  std::atomic<bool> aborted = false;                     // here
  std::atomic<bool> failed = false;                      // here, by itself
  std::shared_ptr<int> calls = std::make_shared<int>();  // held by calls under way and by those of graphs
};

}  // namespace ronde::inline v0::cuda

namespace ronde::test {

using cuda::Group;
using cuda::GroupCall;
using cuda::GroupReduction;
using cuda::GroupTag;
using cuda::GroupVerb;
using cuda::Outcome;
using cuda::Status;

namespace {

constexpr std::chrono::microseconds kPause{300};

Status failed(const char* text) {
  return {Outcome::failed, text};
}

// Of a number and a NaN the smaller and the larger one are the number, as in NCCL.
template <class T>
T combined(GroupReduction reduction, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == GroupReduction::min) return std::fmin(a, b);
    if (reduction == GroupReduction::max) return std::fmax(a, b);
  }
  switch (reduction) {
    case GroupReduction::min:
      return std::min(a, b);
    case GroupReduction::max:
      return std::max(a, b);
    case GroupReduction::product:
      return static_cast<T>(a * b);
    default:
      return static_cast<T>(a + b);
  }
}

// Elements from `first` on of all ranks' vectors, in rank order.
template <class T>
void reduce(GroupTag& group, const GroupCall& call, std::int64_t first, void* out) {
  for (std::int64_t i = 0; i < call.count; ++i) {
    T total{};
    for (int r = 0; r < group.size; ++r) {
      T value;
      std::memcpy(&value, group.memory.bytes(r) + static_cast<std::size_t>(first + i) * sizeof value,
                  sizeof value);
      total = r == 0 ? value : combined(call.reduction, total, value);
    }
    if (call.reduction == GroupReduction::average) total = static_cast<T>(total / static_cast<T>(group.size));
    std::memcpy(static_cast<char*>(out) + static_cast<std::size_t>(i) * sizeof total, &total, sizeof total);
  }
}

void reduce_any(GroupTag& group, const GroupCall& call, std::int64_t first, void* out) {
  switch (call.dtype) {
    case DType::f32:
      return reduce<float>(group, call, first, out);
    case DType::f64:
      return reduce<double>(group, call, first, out);
    case DType::i32:
      return reduce<std::int32_t>(group, call, first, out);
    case DType::i64:
      return reduce<std::int64_t>(group, call, first, out);
    case DType::u8:
      return reduce<std::uint8_t>(group, call, first, out);
    default:
      throw DeviceLost("the fake ranks cannot add such numbers");
  }
}

// What must be the same on all ranks, also whether it is of a graph.
std::int64_t code_of(const GroupCall& call, bool is_captured) {
  return call.count * 8192 + (is_captured ? 4096 : 0) + static_cast<std::int64_t>(call.verb) * 512 +
         static_cast<std::int64_t>(call.reduction) * 64 + static_cast<std::int64_t>(call.dtype) * 8 +
         call.root % 8;
}

std::size_t bytes_of(const GroupCall& call) {
  return static_cast<std::size_t>(call.count) * size_of(call.dtype);
}

// Elements that a rank puts into the common memory and that it gets out of it.
std::size_t given(const GroupTag& group, const GroupCall& call) {
  return bytes_of(call) * (call.verb == GroupVerb::reduce_scatter ? static_cast<std::size_t>(group.size) : 1);
}
std::size_t taken(const GroupTag& group, const GroupCall& call) {
  return bytes_of(call) * (call.verb == GroupVerb::allgather ? static_cast<std::size_t>(group.size) : 1);
}

// One call on one rank, when its stream has come to it. `in` and `out` are where the bytes are.
class RankCall {
 public:
  RankCall(Group group, const GroupCall& call, bool is_captured, std::int64_t place, const void* in,
           void* out)
      : group_(group), call_(call), code_(code_of(call, is_captured)), place_(place), in_(in), out_(out) {}

  /// Brings this rank's numbers; whether all ranks' are there.
  bool arrive() {
    GroupTag& group = *group_;
    if (group.aborted) return true;
    if (group.failed || (group.under_way && group.under_way != this)) return false;
    RankMemory::Rank& own = group.memory.rank(group.rank);
    if (!group.under_way) {
      for (int r = 0; r < group.size; ++r)
        if (group.memory.rank(r).done < group.begun) return false;  // it still reads what lies here
      group.under_way = this;
      std::memcpy(group.memory.bytes(group.rank), in_, given(group, call_));
      own.call = code_;
      own.place = place_;
      own.arrived = ++group.begun;
    }
    for (int r = 0; r < group.size; ++r)
      if (group.memory.rank(r).arrived < group.begun) return false;
    return true;
  }

  void run() {
    GroupTag& group = *group_;
    if (group.aborted) return;
    for (int r = 0; r < group.size; ++r)
      if (group.memory.rank(r).call != code_ || group.memory.rank(r).place != place_)
        throw DeviceLost("the ranks' calls differ");
    if (call_.verb == GroupVerb::allreduce) reduce_any(group, call_, 0, out_);
    if (call_.verb == GroupVerb::reduce_scatter) reduce_any(group, call_, group.rank * call_.count, out_);
    if (call_.verb == GroupVerb::broadcast)
      std::memcpy(out_, group.memory.bytes(call_.root), bytes_of(call_));
    for (int r = 0; r < group.size && call_.verb == GroupVerb::allgather; ++r)
      std::memcpy(static_cast<char*>(out_) + static_cast<std::size_t>(r) * bytes_of(call_),
                  group.memory.bytes(r), bytes_of(call_));
    group.under_way = nullptr;
    group.memory.rank(group.rank).done = group.begun;
  }

 private:
  Group group_;
  GroupCall call_;
  std::int64_t code_, place_;
  const void* in_;
  void* out_;
};

}  // namespace

FakeCollectives::~FakeCollectives() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
}

void FakeCollectives::keep_going() {
  while (!is_over_) {
    if (groups_ > 0) runtime_.nudge();
    std::this_thread::sleep_for(kPause);
  }
}

Status FakeCollectives::make_id(cuda::GroupId* id) {
  const std::string name = RankMemory::new_name();
  std::memcpy(id->bytes.data(), name.data(), name.size());
  return {};
}

Status FakeCollectives::join(const cuda::GroupId& id, int rank, int size, Group* group) {
  if (size > static_cast<int>(RankMemory::kRanks)) return failed("too many fake ranks");
  *group = new GroupTag(id.bytes.data(), rank, size);
  ++groups_;
  if (!thread_.joinable()) thread_ = std::thread([this] { keep_going(); });
  return {Outcome::not_ready, ""};
}

Status FakeCollectives::progress(Group group) {
  if (group->failed) return failed("fake NCCL: unhandled system error");
  if (group->aborted) return failed("fake NCCL: the communicator was aborted");
  if (group->memory.any_broken(group->size))
    return failed("fake NCCL: remote process exited or network error");
  const std::int64_t windows = group->windows;
  if (!group->memory.all_joined(group->size) || !group->memory.all_opened(windows, group->size))
    return {Outcome::not_ready, ""};
  if (windows > 0 && !group->memory.same_window(windows, group->size))
    return failed("fake NCCL: the ranks' windows differ");
  return {};
}

Status FakeCollectives::enqueue(Group group, const GroupCall& call, cuda::Stream stream) {
  if (group->aborted) return failed("fake NCCL: the communicator was aborted");
  const std::int64_t number = ++calls_;
  ++group->given;
  return runtime_.give_to_ranks(
      stream, number,
      {.in = call.in, .in_bytes = given(*group, call), .out = call.out, .out_bytes = taken(*group, call)},
      [group, call, held = group->calls, is_captured = runtime_.captures(), place = place_of(call)](
          const void* in, void* out) {
        const auto one = std::make_shared<RankCall>(group, call, is_captured, place, in, out);
        return Operation{.run = [one] { one->run(); }, .is_ready = [one] { return one->arrive(); }};
      },
      [group] {
        group->failed = true;
        group->memory.rank(group->rank).broken = 1;
      });
}

// Where in its window lies what the other ranks reach; -1: in none.
std::int64_t FakeCollectives::place_of(const GroupCall& call) {
  const auto* reached = static_cast<const char*>(call.verb == GroupVerb::reduce_scatter ? call.in : call.out);
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(reached);
  if (block == blocks_.begin()) return -1;
  --block;
  const std::int64_t place = reached - static_cast<const char*>(block->first);
  return block->second.is_open && place < static_cast<std::int64_t>(block->second.bytes) ? place : -1;
}

Status FakeCollectives::enroll(Group, void* memory, std::size_t, void** handle) {
  *handle = memory;
  ++enrolled_;
  return {};
}

// Known to be open only when all ranks have come, as `progress` tells.
Status FakeCollectives::enroll_window(Group group, void* memory, std::size_t bytes, void** handle) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(memory);
  if (block == blocks_.end() || block->second.bytes < bytes || block->second.is_open)
    return failed("fake NCCL: no memory for a window");
  if (runtime_.options().failing_window) return failed("fake NCCL: unhandled cuda error");
  block->second.is_open = true;
  *handle = memory;
  ++windows_;
  ++opened_;
  RankMemory::Rank& own = group->memory.rank(group->rank);
  const std::int64_t number = ++group->windows;
  const std::size_t place = static_cast<std::size_t>(number) % 2;
  own.window_call[place] = group->given;
  own.window_bytes[place] = static_cast<std::int64_t>(bytes);
  own.windows = number;
  return {Outcome::not_ready, ""};
}

Status FakeCollectives::withdraw(Group group, void* handle) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(handle);
  if (block == blocks_.end()) {
    --enrolled_;
    return {};
  }
  if (!group->aborted && !runtime_.user_of(handle).empty())
    return {Outcome::refused, "fake NCCL: a window is closed in use"};
  block->second.is_open = false;
  --windows_;
  return {};
}

Status FakeCollectives::allocate(std::size_t bytes, void** memory) {
  if (!runtime_.options().has_windows) return {Outcome::unsupported, "fake NCCL: no windows"};
  const Status status = runtime_.allocate(bytes, memory);
  const std::lock_guard lock(mutex_);
  if (status.ok()) blocks_[*memory] = {bytes};
  return status;
}

Status FakeCollectives::release(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(memory);
  if (block == blocks_.end() || block->second.is_open)
    return {Outcome::refused, "fake NCCL: memory was given back that is none, or an open window"};
  const Status status = runtime_.release(memory);
  if (status.ok()) blocks_.erase(block);
  return status;
}

std::size_t FakeCollectives::window_memory() {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [memory, block] : blocks_) bytes += block.bytes;
  return bytes;
}

Status FakeCollectives::cancel(Group group) {
  group->aborted = true;
  group->memory.rank(group->rank).broken = 1;
  std::this_thread::sleep_for(
      std::chrono::milliseconds(5));  // like NCCL it returns when nothing runs any more
  return {};
}

// NCCL would not come back.
Status FakeCollectives::leave(Group group) {
  if (!group->aborted && group->calls.use_count() > 1) {
    std::fputs("fake NCCL: a graph with calls of a group outlives it\n", stderr);
    std::abort();
  }
  --groups_;
  const std::lock_guard lock(mutex_);
  left_.emplace_back(group);
  return {};
}

}  // namespace ronde::test
