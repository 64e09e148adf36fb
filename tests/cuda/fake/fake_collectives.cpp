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
  RankCall(Group group, const GroupCall& call, bool is_captured, const void* in, void* out)
      : group_(group), call_(call), code_(code_of(call, is_captured)), in_(in), out_(out) {}

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
      if (group.memory.rank(r).call != code_) throw DeviceLost("the ranks' calls differ");
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
  std::int64_t code_;
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
  return {group->memory.all_joined(group->size) ? Outcome::ok : Outcome::not_ready, ""};
}

Status FakeCollectives::enqueue(Group group, const GroupCall& call, cuda::Stream stream) {
  if (group->aborted) return failed("fake NCCL: the communicator was aborted");
  const std::int64_t number = ++calls_;
  return runtime_.give_to_ranks(
      stream, number,
      {.in = call.in, .in_bytes = given(*group, call), .out = call.out, .out_bytes = taken(*group, call)},
      [group, call, held = group->calls, is_captured = runtime_.captures()](const void* in, void* out) {
        const auto one = std::make_shared<RankCall>(group, call, is_captured, in, out);
        return Operation{.run = [one] { one->run(); }, .is_ready = [one] { return one->arrive(); }};
      },
      [group] {
        group->failed = true;
        group->memory.rank(group->rank).broken = 1;
      });
}

Status FakeCollectives::enroll(Group, void* memory, std::size_t, void** handle) {
  *handle = memory;
  ++enrolled_;
  return {};
}

Status FakeCollectives::withdraw(Group, void*) {
  --enrolled_;
  return {};
}

Status FakeCollectives::abort(Group group) {
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
