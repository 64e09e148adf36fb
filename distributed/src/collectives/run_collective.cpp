#include "collectives/run_collective.h"

#include <cstring>
#include <exception>
#include <numeric>

#include <ronde/core/backend.h>

#include "collectives/checks.h"
#include "transport/reduction.h"

namespace ronde::inline v0 {
namespace {

using Counts = std::vector<std::int64_t>;

Counts times(Counts counts, std::int64_t factor) {
  for (std::int64_t& count : counts) count *= factor;
  return counts;
}

std::int64_t rows_in(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

class Run {
 public:
  Run(const Collective& call, const Workspace& workspace, Transport& transport,
      const AgreeOnError& agree_on_error)
      : call_(call),
        workspace_(workspace),
        transport_(transport),
        agree_on_error_(agree_on_error),
        place_(transport.place()) {}

  void allreduce() const {
    for (const Tensor& data : call_.tensors) {
      scale(data.raw(), data.count(), data.dtype(), call_.prescale);
      if (data.count() > 0) transport_.allreduce(data.raw(), data.count(), data.dtype(), call_.op);
      scale(data.raw(), data.count(), data.dtype(), call_.postscale);
    }
  }

  void broadcast() const {
    if (call_.received) return broadcast_unknown();
    for (const Tensor& data : call_.tensors) broadcast(data.raw(), byte_count(data));
  }

  void allgather() const {
    Counts counts = call_.counts;
    Tensor out = call_.out;
    if (call_.received) {
      counts.resize(ranks());
      const std::int64_t own = call_.in.size(0);
      transport_.allgatherv(counts.data(), &own, Counts(ranks(), sizeof own));
      out = make_room(counts);
    } else if (counts.empty()) {
      counts.assign(ranks(), call_.in.size(0));
    }
    if (out.byte_size() > 0) transport_.allgatherv(out.raw(), call_.in.raw(), times(counts, row_bytes(out)));
  }

  void reduce_scatter() const {
    const Counts counts = even_rows(call_.in.size(0), place_.size);
    Tensor out = call_.out;
    if (call_.received) {
      out = make_room({counts[static_cast<std::size_t>(place_.rank)]});
      call_.received->counts = counts;
    }
    const std::int64_t row = call_.in.shape().tail(1).count();
    if (call_.in.count() == 0) return;
    Tensor in = call_.in;  // which is not to be changed
    if (workspace_.scaled().defined()) {
      in = workspace_.scaled();
      in.copy_from(call_.in);
      scale(in.raw(), in.count(), in.dtype(), call_.prescale);
    }
    transport_.reduce_scatter(out.raw(), in.raw(), times(counts, row), in.dtype(), call_.op);
    scale(out.raw(), out.count(), out.dtype(), call_.postscale);
  }

  void alltoall() const {
    const std::int64_t row = row_bytes(call_.in);
    if (!call_.received) {
      const Counts bytes(ranks(), call_.in.size(0) / place_.size * row);
      if (bytes.front() > 0) transport_.alltoallv(call_.out.raw(), bytes, call_.in.raw(), bytes);
      return;
    }
    const Counts numbers(ranks(), sizeof(std::int64_t));
    Counts counts(ranks());
    transport_.alltoallv(counts.data(), numbers, call_.counts.data(), numbers);
    const Tensor out = make_room(counts);
    transport_.alltoallv(out.raw(), times(counts, row), call_.in.raw(), times(call_.counts, row));
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(place_.size); }
  static std::int64_t byte_count(const Tensor& tensor) {
    return static_cast<std::int64_t>(tensor.byte_size());
  }

  void broadcast(void* data, std::int64_t bytes) const {
    if (bytes > 0) transport_.broadcast(data, bytes, call_.root);
  }

  // Root alone has a tensor, of bytes, and knows how many.
  void broadcast_unknown() const {
    const bool is_root = place_.rank == call_.root;
    std::int64_t bytes = is_root ? byte_count(call_.in) : 0;
    broadcast(&bytes, sizeof bytes);
    const Tensor room = make_room({bytes});
    if (is_root) room.copy_from(call_.in);
    broadcast(room.raw(), bytes);
  }

  // A tensor for rows of `counts`, like those of `in`. A rank without the memory does not leave the others
  // waiting.
  Tensor make_room(const Counts& counts) const {
    std::string error;
    try {
      call_.received->counts = counts;
      call_.received->rows = Tensor::empty(call_.in.shape().with_batch(rows_in(counts)), call_.in.options());
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    agree_on_error_(error);
    return call_.received->rows;
  }

  const Collective& call_;
  const Workspace& workspace_;
  Transport& transport_;
  const AgreeOnError& agree_on_error_;
  Place place_;
};

// Of several tensors that which may take most.
ReductionSize reduction_size(const Collective& call, const Place& place) {
  const auto most = [&](std::int64_t rows) { return even_rows(rows, place.size).front(); };
  if (call.verb == Collective::Verb::reduce_scatter) {
    const auto* begin = static_cast<const char*>(call.in.raw());
    const auto* out = call.out.defined() ? static_cast<const char*>(call.out.raw()) : nullptr;
    return {.count = call.in.count(),
            .part = most(call.in.size(0)) * call.in.shape().tail(1).count(),
            .dtype = call.in.dtype(),
            .is_scattered = true,
            .is_in_place = out && begin <= out && out < begin + call.in.byte_size()};
  }
  ReductionSize largest;
  if (call.verb != Collective::Verb::allreduce) return largest;
  const auto need = [](DType dtype, std::int64_t count) { return dtype == DType::bf16 ? 4 * count : count; };
  for (const Tensor& data : call.tensors)
    if (need(data.dtype(), data.count()) > need(largest.dtype, largest.count))
      largest = {.count = data.count(), .part = most(data.count()), .dtype = data.dtype()};
  return largest;
}

}  // namespace

Announcement announcement_of(const Collective& call) {
  // Buffers are made, scaled and copied between the meeting and the transport's part.
  if (call.received || call.prescale != 1.0) return {};
  const bool has_one = call.tensors.size() == 1;
  switch (call.verb) {
    case Collective::Verb::allreduce:
      if (!has_one) return {};
      return {.in = call.tensors[0].raw(),
              .count = call.tensors[0].count(),
              .dtype = call.tensors[0].dtype(),
              .op = call.op};
    case Collective::Verb::broadcast:
      return {.in = has_one ? call.tensors[0].raw() : nullptr};
    case Collective::Verb::allgather:
    case Collective::Verb::allgatherv:
      return {.in = call.in.raw(), .out = call.out.raw()};
    case Collective::Verb::reduce_scatter:
      return {.in = call.in.raw()};
    case Collective::Verb::alltoall:
    case Collective::Verb::barrier:
      return {};
  }
  return {};
}

Workspace::Workspace(const Collective& call, Transport& transport) {
  if (const ReductionSize reduction = reduction_size(call, transport.place()); reduction.count > 0) {
    reserved_ = &transport;
    transport.reserve(reduction);
  }
  if (call.verb == Collective::Verb::reduce_scatter && call.prescale != 1.0)
    scaled_ = Tensor::empty_like(call.in);
}

Workspace::~Workspace() {
  if (reserved_) reserved_->reserve({});
}

void run_collective(const Collective& call, const Workspace& workspace, Transport& transport,
                    const AgreeOnError& agree_on_error) {
  const Run run(call, workspace, transport, agree_on_error);
  switch (call.verb) {
    case Collective::Verb::allreduce:
      return run.allreduce();
    case Collective::Verb::broadcast:
      return run.broadcast();
    case Collective::Verb::allgather:
    case Collective::Verb::allgatherv:
      return run.allgather();
    case Collective::Verb::reduce_scatter:
      return run.reduce_scatter();
    case Collective::Verb::alltoall:
      return run.alltoall();
    case Collective::Verb::barrier:
      return;
  }
}

std::vector<std::int64_t> even_rows(std::int64_t rows, int size) {
  std::vector<std::int64_t> counts;
  for (int r = 0; r < size; ++r) counts.push_back(rows / size + (r < rows % size ? 1 : 0));
  return counts;
}

}  // namespace ronde::inline v0
