#include <ronde/distributed/communicator.h>

#include <ronde/distributed/objects.h>
#include <ronde/distributed/values.h>

namespace ronde::inline v0 {
namespace {

using Verb = Collective::Verb;

Collective make(Verb verb, const std::string& name) {
  Collective call;
  call.verb = verb;
  call.name = name;
  return call;
}

Collective make_reducing(Verb verb, const AllreduceOptions& options) {
  Collective call = make(verb, options.name);
  call.op = options.op;
  call.prescale = options.prescale;
  call.postscale = options.postscale;
  return call;
}

Work start_with(Communicator& communicator, Collective call, const Tensor& out, const Tensor& in) {
  call.out = out;
  call.in = in;
  return communicator.start(std::move(call));
}

Pending<Tensor> start_pending(Communicator& communicator, Collective call, const Tensor& in) {
  const auto received = std::make_shared<ReceivedRows>();
  call.in = in;
  call.received = received;
  return {communicator.start(std::move(call)), [received] { return received->rows; }};
}

}  // namespace

Work Communicator::allreduce(const Tensor& data, Reduction op) {
  return grouped_allreduce({data}, {.op = op});
}

Work Communicator::allreduce(const Tensor& data, const AllreduceOptions& options) {
  return grouped_allreduce({data}, options);
}

Work Communicator::grouped_allreduce(const std::vector<Tensor>& tensors, const AllreduceOptions& options) {
  Collective call = make_reducing(Verb::allreduce, options);
  call.tensors = tensors;
  return start(std::move(call));
}

Work Communicator::broadcast(const Tensor& data, int root, const std::string& name) {
  Collective call = make(Verb::broadcast, name);
  call.tensors = {data};
  call.root = root;
  return start(std::move(call));
}

Work Communicator::allgather(const Tensor& out, const Tensor& in, const std::string& name) {
  return start_with(*this, make(Verb::allgather, name), out, in);
}

Work Communicator::allgatherv(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts,
                              const std::string& name) {
  Collective call = make(Verb::allgatherv, name);
  call.counts = counts;
  return start_with(*this, std::move(call), out, in);
}

Pending<Tensor> Communicator::allgather(const Tensor& in, const std::string& name) {
  return start_pending(*this, make(Verb::allgather, name), in);
}

Work Communicator::reduce_scatter(const Tensor& out, const Tensor& in, Reduction op) {
  return reduce_scatter(out, in, AllreduceOptions{.op = op});
}

Work Communicator::reduce_scatter(const Tensor& out, const Tensor& in, const AllreduceOptions& options) {
  return start_with(*this, make_reducing(Verb::reduce_scatter, options), out, in);
}

Pending<Tensor> Communicator::reduce_scatter(const Tensor& in, const AllreduceOptions& options) {
  return start_pending(*this, make_reducing(Verb::reduce_scatter, options), in);
}

Work Communicator::alltoall(const Tensor& out, const Tensor& in, const std::string& name) {
  return start_with(*this, make(Verb::alltoall, name), out, in);
}

Pending<ReceivedRows> Communicator::alltoall(const Tensor& in, const std::vector<std::int64_t>& splits,
                                             const std::string& name) {
  const auto received = std::make_shared<ReceivedRows>();
  Collective call = make(Verb::alltoall, name);
  call.in = in;
  call.counts = splits;
  call.received = received;
  return {start(std::move(call)), [received] { return *received; }};
}

Work Communicator::barrier(const std::string& name) {
  return start(make(Verb::barrier, name));
}

Work Communicator::sequence(const std::string&, std::function<void(Communicator&)> body) {
  body(*this);
  return {};
}

Tensor Communicator::shared_tensor(const Shape& shape, TensorOptions options) {
  return Tensor::zeros(shape, options);
}

std::vector<std::string> allgather_strings(Communicator& communicator, const std::string& text) {
  return allgather_object(communicator, text).wait();
}

std::string broadcast_string(Communicator& communicator, const std::string& text, int root) {
  return broadcast_object(communicator, text, root).wait();
}

void allreduce_values(Communicator& communicator, std::vector<double>& values, Reduction op) {
  allreduce(communicator, values, {.op = op}).wait();
}

void agree(Communicator& communicator, const std::string& message, ExitStatus status) {
  // One small reduction when all is well: the lowest failing rank, or size.
  const bool failed = status != ExitStatus::ok;
  const int size = communicator.size();
  std::vector<double> lowest{static_cast<double>(failed ? communicator.rank() : size)};
  allreduce_values(communicator, lowest, Reduction::min);
  const int rank = static_cast<int>(lowest[0]);
  if (rank == size) return;
  const std::string number = broadcast_string(communicator, std::to_string(static_cast<int>(status)), rank);
  const std::string text = broadcast_string(communicator, message, rank);
  throw CollectiveError(text, static_cast<ExitStatus>(std::stoi(number)), communicator, rank);
}

}  // namespace ronde::inline v0
