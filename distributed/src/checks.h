/// Argument checks that all communicators share. Each returns a description of the call, "allreduce(sum, f32
/// (64,))", which must be the same on all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

std::string check_allreduce(const Tensor& data, Reduction op);
std::string check_broadcast(const Tensor& data, int root, int size);
std::string check_allgather(const Tensor& out, const Tensor& in, int size);
std::string check_allgatherv(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts,
                             int rank, int size);
std::string check_reduce_scatter(const Tensor& out, const Tensor& in, Reduction op, int size);
std::string check_alltoall(const Tensor& out, const Tensor& in, int size);

/// Bytes of one row (all axes but the first) of a tensor.
std::int64_t row_bytes(const Tensor& tensor);

}  // namespace ronde::inline v0
