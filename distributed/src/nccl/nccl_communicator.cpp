#include "nccl/nccl_communicator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/machine.h>
#include <ronde/distributed/values.h>

#include "collectives/checks.h"

namespace ronde::inline v0 {

namespace {

using Verb = Collective::Verb;

/// Calls on the GPU, of one operation.
class GpuWork final : public Work::State {
 public:
  explicit GpuWork(std::vector<std::shared_ptr<DeviceGroup::Started>> calls) : calls_(std::move(calls)) {}
  bool done() override {
    return std::all_of(calls_.begin(), calls_.end(), [](const auto& call) { return call->done(); });
  }
  void wait() override {
    for (const auto& call : calls_) call->join();
  }
  bool wait_for(double seconds) override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    try {
      while (!done()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    } catch (const Error&) {
      return true;  // `wait` tells
    }
    return true;
  }

 private:
  std::vector<std::shared_ptr<DeviceGroup::Started>> calls_;
};

/// What could not be started.
class FailedWork final : public Work::State {
 public:
  explicit FailedWork(std::exception_ptr error) : error_(std::move(error)) {}
  bool done() override { return true; }
  void wait() override { std::rethrow_exception(error_); }
  bool wait_for(double) override { return true; }

 private:
  std::exception_ptr error_;
};

template <class F>
Work work_of(F&& start) {
  try {
    return start();
  } catch (...) {
    return Work(std::make_shared<FailedWork>(std::current_exception()));
  }
}

DeviceGroup::Combine combine_of(Reduction op) {
  switch (op) {
    case Reduction::average:
      return DeviceGroup::Combine::average;
    case Reduction::min:
      return DeviceGroup::Combine::min;
    case Reduction::max:
      return DeviceGroup::Combine::max;
    case Reduction::product:
      return DeviceGroup::Combine::product;
    case Reduction::sum:
      break;
  }
  return DeviceGroup::Combine::sum;
}

// NCCL's smallest and largest of floats lose a NaN that one rank has.
bool keeps_nans(Reduction op, DType dtype) {
  return (op != Reduction::min && op != Reduction::max) || !is_floating(dtype);
}

// Whether NCCL has a call for it.
bool is_plain(const Collective& call) {
  if (call.prescale != 1.0 || call.postscale != 1.0 || call.received) return false;
  for (const Tensor& tensor : call.tensors)
    if (!tensor.is_contiguous() || (call.verb == Verb::allreduce && !keeps_nans(call.op, tensor.dtype())))
      return false;
  if (call.verb == Verb::reduce_scatter && !keeps_nans(call.op, call.in.dtype())) return false;
  return call.verb == Verb::allreduce || call.verb == Verb::broadcast || call.verb == Verb::allgather ||
         call.verb == Verb::reduce_scatter;
}

Tensor host_copy(const Tensor& tensor) {
  return tensor.defined() ? tensor.to(backend("cpu")) : tensor;
}

std::string node_name() {
  const char* chosen = std::getenv("NCCL_HOSTID");
  if (chosen && *chosen) return chosen;
  return host_name();
}

// NCCL would find that out too, in other words.
void require_own_gpus(Communicator& host, Backend& gpu) {
  const std::string own = DeviceGroup::hardware(gpu);
  const std::vector<std::string> all = allgather_strings(host, cat(node_name(), '\n', own));
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b)
      require<UsageError>(all[a] != all[b], "[nccl] ranks ", a, " and ", b, " have the same GPU (",
                          all[a].substr(all[a].find('\n') + 1),
                          "), but each needs its own: start at most as many ranks on a node as it has GPUs");
}

}  // namespace

NcclCommunicator::NcclCommunicator(Communicator& host, Backend& gpu)
    : host_(host),
      gpu_(gpu),
      group_(gpu, broadcast_string(host, host.rank() == 0 ? DeviceGroup::make_id(gpu) : ""), host.rank(),
             host.size()),
      watch_(group_, host.flight_recorder()) {}

bool NcclCommunicator::is_here(const Collective& call) const {
  return std::all_of(call.tensors.begin(), call.tensors.end(),
                     [&](const Tensor& tensor) { return is_here(tensor); }) &&
         is_here(call.out) && is_here(call.in) && (!call.tensors.empty() || call.in.defined());
}

Work NcclCommunicator::start(Collective call) {
  if (!is_here(call)) return host_.start(std::move(call));
  return work_of([&] {
    if (!is_plain(call)) return start_by_host(call);
    meet(call);
    return start_on_gpu(call);
  });
}

// A rank whose arguments are wrong, or that lacks the memory, comes with what is wrong: then the ranks
// differ, and all hear of it.
void NcclCommunicator::object(const std::string& text) {
  host_.sequence(text, [](Communicator&) {}).wait();
}

void NcclCommunicator::meet(const Collective& call) {
  std::string text;
  try {
    check(call, rank(), size(), TensorsIn::any_memory);
    text = cat(call.name, ' ', arguments_of(call));
  } catch (const Error& error) {
    object(error.what());
    throw;  // of all ranks
  }
  host_.sequence(cat(verb_of(call), " on GPUs ", text), [](Communicator&) {}).wait();
}

Work NcclCommunicator::start_on_gpu(const Collective& call) {
  std::vector<std::shared_ptr<DeviceGroup::Started>> started;
  const DeviceGroup::Combine combine = combine_of(call.op);
  if (call.verb == Verb::allgather)
    started.push_back(group_.start({DeviceGroup::Verb::allgather, call.out, call.in}));
  else if (call.verb == Verb::reduce_scatter)
    started.push_back(group_.start({DeviceGroup::Verb::reduce_scatter, call.out, call.in, combine}));
  for (const Tensor& tensor : call.tensors)
    started.push_back(
        call.verb == Verb::broadcast
            ? group_.start(
                  {.verb = DeviceGroup::Verb::broadcast, .out = tensor, .in = tensor, .root = call.root})
            : group_.start({.out = tensor, .in = tensor, .combine = combine}));
  return Work(std::make_shared<GpuWork>(std::move(started)));
}

Work NcclCommunicator::start_by_host(const Collective& call) {
  Collective on_host = call;
  try {
    for (Tensor& tensor : on_host.tensors) tensor = host_copy(tensor).contiguous();
    on_host.in = host_copy(call.in);
    on_host.out = host_copy(call.out);
  } catch (const std::exception& error) {
    object(error.what());
    throw;
  }
  host_.start(on_host).wait();
  for (std::size_t i = 0; i < call.tensors.size(); ++i)
    call.tensors[i].copy_from(on_host.tensors[i].to(gpu_));
  if (call.out.defined()) call.out.copy_from(on_host.out.to(gpu_));
  if (!call.received) return {};
  collectively(host_, [&] {
    if (call.received->rows.defined()) call.received->rows = call.received->rows.to(gpu_);
  });
  return {};
}

Work NcclCommunicator::sum_planned(const Tensor& data) {
  return work_of([&] {
    return Work(std::make_shared<GpuWork>(
        std::vector<std::shared_ptr<DeviceGroup::Started>>{group_.start({.out = data, .in = data})}));
  });
}

Work NcclCommunicator::sequence(const std::string& call, std::function<void(Communicator&)> body) {
  return work_of([&] {
    host_.sequence(call, [](Communicator&) {}).wait();
    body(*this);
    return Work();
  });
}

Tensor NcclCommunicator::shared_tensor(const Shape& shape, TensorOptions options) {
  if (options.backend != &gpu_) return host_.shared_tensor(shape, options);
  const auto window = window_memory(static_cast<std::size_t>(shape.count()) * size_of(options.dtype));
  Tensor zeros;
  collectively(host_, [&] { zeros = group_.enrolled_zeros(shape, options, window); });
  return zeros;
}

std::shared_ptr<void> NcclCommunicator::window_memory(std::size_t bytes) {
  std::shared_ptr<void> own = group_.window_memory(bytes);
  const std::vector<bool> all = ronde::allgather(host_, std::array{own != nullptr}, "windows").wait();
  if (!std::all_of(all.begin(), all.end(), [](bool has) { return has; })) own.reset();
  return own;
}

std::unique_ptr<Communicator> NcclCommunicator::split(int, int) {
  throw UsageError(
      "[nccl] a communicator of GPUs cannot be split: split the one it was made from, and make another of "
      "that");
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, Backend& gpu) {
  collectively(host, [&] {
    const std::string obstacle = DeviceGroup::obstacle(gpu);
    require<UsageError>(obstacle.empty(), "[nccl] ", obstacle);
  });
  require_own_gpus(host, gpu);
  std::unique_ptr<Communicator> made;
  collectively(host, [&] { made = std::make_unique<NcclCommunicator>(host, gpu); });
  return made;
}

void mark_gpu_step(Communicator& communicator) {
  if (auto* nccl = dynamic_cast<NcclCommunicator*>(&communicator)) nccl->mark_step();
}

}  // namespace ronde::inline v0
