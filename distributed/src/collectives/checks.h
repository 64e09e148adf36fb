/// What every communicator asks of a call, whatever its kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

/// "allreduce", "grouped_allreduce", "allgatherv", ...
std::string verb_of(const Collective& call);
/// "sum, f32 (64,)": what must be the same on all ranks.
std::string arguments_of(const Collective& call);
/// Where the tensors of a call may lie.
enum class TensorsIn { host_memory, any_memory };

/// Throws a UsageError unless rank `rank` of `size` may call this.
void check(const Collective& call, int rank, int size, TensorsIn memory = TensorsIn::host_memory);

/// Bytes of one row (all axes but the first) of a tensor.
std::int64_t row_bytes(const Tensor& tensor);

}  // namespace ronde::inline v0
