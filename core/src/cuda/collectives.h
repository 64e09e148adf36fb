/// Collectives: what the GPUs of several ranks do together, behind a thin interface without NCCL's headers.
/// The real one is NCCL, the tests' fake computes on the CPU, late.
///
/// A group is what NCCL calls a communicator. Nothing throws and nothing blocks: what needs the other ranks
/// goes on by itself, and `progress` tells how far it is. Calls of one group come from one thread at a time,
/// `progress` and `cancel` from any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ronde/core/dtype_code.h>

#include "cuda/status_code.h"

namespace ronde::inline v0::cuda {

struct GroupTag;
using Group = GroupTag*;  // nullptr is none

/// Made on one rank, needed by all.
struct GroupId {
  std::array<char, 128> bytes{};
};

enum class GroupVerb : std::uint8_t { allreduce, broadcast, allgather, reduce_scatter };
enum class GroupReduction : std::uint8_t { sum, average, min, max, product };

struct GroupCall {
  GroupVerb verb = GroupVerb::allreduce;
  GroupReduction reduction = GroupReduction::sum;
  DType dtype = DType::f32;
  int root = 0;
  const void* in = nullptr;
  void* out = nullptr;  ///< may be `in`, for allgather and reduce_scatter this rank's part of the larger one
  std::int64_t count = 0;  ///< elements; of the smaller one
};

class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual Status make_id(GroupId* id) = 0;
  /// Begins to join; `progress` tells when the group is there.
  virtual Status join(const GroupId& id, int rank, int size, Group* group) = 0;
  /// not_ready: what was asked for last is still being done on the host; `failed`: this group is lost.
  virtual Status progress(Group group) = 0;
  /// On the stream, which may be in a capture. Before the next call `progress` must have said ok.
  virtual Status enqueue(Group group, const GroupCall& call, Stream stream) = 0;

  /// Memory that calls of this group will use again and again. `unsupported` does no harm.
  virtual Status enroll(Group group, void* memory, std::size_t bytes, void** handle) = 0;
  /// The same as a window, that the devices of all ranks reach: by all of them, each with as many bytes that
  /// `allocate` gave, in the same order as all calls. What calls read or write of other ranks lies at the
  /// same place of every rank's window. `progress` tells when it is there; where one rank fails the group is
  /// lost.
  virtual Status enroll_window(Group group, void* memory, std::size_t bytes, void** handle) = 0;
  /// By each rank for itself. Nothing that uses the memory may be under way, nor be in a graph.
  virtual Status withdraw(Group group, void* handle) = 0;

  /// Memory for windows; `unsupported`: this library has no windows. Neither inside a capture.
  virtual Status allocate(std::size_t bytes, void** memory) = 0;
  /// Withdrawn by now, or its group has ended; no graph uses it.
  virtual Status release(void* memory) = 0;

  /// What runs on the device ends, whatever the other ranks do; they hear of it. The group is only good for
  /// `leave` then.
  virtual Status cancel(Group group) = 0;
  /// The end of the group, by all ranks or after `cancel`. Nothing of it may be under way, and no graph with
  /// calls of it may be left.
  virtual Status leave(Group group) = 0;
};

}  // namespace ronde::inline v0::cuda
