#include <ronde/distributed/self_communicator.h>

#include "checks.h"

namespace ronde::inline v0 {

Work SelfCommunicator::allreduce(const Tensor& data, Reduction op) {
  check_allreduce(data, op);
  return {};
}

Work SelfCommunicator::broadcast(const Tensor& data, int root) {
  check_broadcast(data, root, 1);
  return {};
}

Work SelfCommunicator::allgather(const Tensor& out, const Tensor& in) {
  check_allgather(out, in, 1);
  out.copy_from(in);
  return {};
}

Work SelfCommunicator::allgatherv(const Tensor& out, const Tensor& in,
                                  const std::vector<std::int64_t>& counts) {
  check_allgatherv(out, in, counts, 0, 1);
  out.copy_from(in);
  return {};
}

Work SelfCommunicator::reduce_scatter(const Tensor& out, const Tensor& in, Reduction op) {
  check_reduce_scatter(out, in, op, 1);
  out.copy_from(in);
  return {};
}

Work SelfCommunicator::alltoall(const Tensor& out, const Tensor& in) {
  check_alltoall(out, in, 1);
  out.copy_from(in);
  return {};
}

std::unique_ptr<Communicator> SelfCommunicator::split(int color, int) {
  return color < 0 ? nullptr : std::make_unique<SelfCommunicator>();
}

bool SelfCommunicator::conclude(const Ending&) {
  return true;
}

}  // namespace ronde::inline v0
