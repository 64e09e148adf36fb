#include "timeline/traced_collective.h"

namespace ronde::inline v0 {

const char* traced_name(const Collective& call) {
  switch (call.verb) {
    case Collective::Verb::allreduce:
      return "allreduce";
    case Collective::Verb::broadcast:
      return "broadcast";
    case Collective::Verb::allgather:
      return "allgather";
    case Collective::Verb::allgatherv:
      return "allgatherv";
    case Collective::Verb::reduce_scatter:
      return "reduce_scatter";
    case Collective::Verb::alltoall:
      return "alltoall";
    case Collective::Verb::barrier:
      return "barrier";
  }
  return "collective";
}

std::int64_t traced_bytes(const Collective& call) {
  std::size_t bytes = call.in.defined() ? call.in.byte_size() : 0;
  for (const Tensor& tensor : call.tensors) bytes += tensor.defined() ? tensor.byte_size() : 0;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace ronde::inline v0
