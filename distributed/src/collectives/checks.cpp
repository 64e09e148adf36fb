#include "collectives/checks.h"

#include <algorithm>
#include <numeric>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>

#include "collectives/exact_text.h"

namespace ronde::inline v0 {
namespace {

using Verb = Collective::Verb;

std::string list_of(const std::vector<std::int64_t>& counts) {
  std::string text;
  for (const std::int64_t count : counts) text += cat(text.empty() ? "" : ", ", count);
  return text;
}

// "f32 (*, 3)": any number of rows.
std::string rows_of(const Tensor& tensor) {
  std::string text = cat(tensor.dtype(), " (*");
  for (int axis = 1; axis < tensor.rank(); ++axis) text += cat(", ", tensor.size(axis));
  return text + ')';
}

std::string reduction_of(const Collective& call) {
  std::string text = to_string(call.op);
  if (call.prescale != 1.0) text += cat(", prescale ", exact_text(call.prescale));
  if (call.postscale != 1.0) text += cat(", postscale ", exact_text(call.postscale));
  return text;
}

// Checks one call; the verb and name with which its errors begin are found out only when there is one.
class Check {
 public:
  Check(const Collective& call, int rank, int size, TensorsIn memory)
      : call_(call), rank_(rank), size_(size), memory_(memory) {}

  void run() const {
    switch (call_.verb) {
      case Verb::allreduce:
        return allreduce();
      case Verb::broadcast:
        return broadcast();
      case Verb::allgather:
        return allgather();
      case Verb::allgatherv:
        return allgatherv();
      case Verb::reduce_scatter:
        return reduce_scatter();
      case Verb::alltoall:
        return alltoall();
      case Verb::barrier:
        return;
    }
  }

 private:
  template <class... Pieces>
  void expect(bool ok, const Pieces&... pieces) const {
    if (ok) return;
    const std::string name = call_.name.empty() ? "" : cat(" '", call_.name, "'");
    throw UsageError(cat('[', verb_of(call_), ']', name, ' ', cat(pieces...)));
  }

  void tensor(const Tensor& tensor) const {
    expect(tensor.defined(), "got an undefined tensor");
    expect(tensor.is_contiguous(), "expects contiguous tensors, got a view of ", tensor,
           "; contiguous() makes a copy");
    expect(memory_ == TensorsIn::any_memory || tensor.backend().device().type == DeviceType::cpu ||
               is_identity(),
           "expects host memory, got ", tensor.backend().device());
  }

  // Nothing is read or written, so the memory may be anywhere.
  bool is_identity() const {
    return size_ == 1 && (call_.verb == Verb::allreduce || call_.verb == Verb::broadcast) &&
           !call_.received && call_.prescale == 1.0 && call_.postscale == 1.0;
  }

  void reduction(const Tensor& tensor) const {
    if (is_floating(tensor.dtype())) return;
    expect(call_.op != Reduction::average, "average expects a floating dtype, got ", tensor.dtype());
    expect(call_.prescale == 1.0 && call_.postscale == 1.0, "scales expect a floating dtype, got ",
           tensor.dtype());
  }

  void has_rows(const Tensor& tensor) const {
    expect(tensor.rank() >= 1, "expects at least one axis, got ", tensor);
  }

  // `whole` has `rows` rows like those of `part`.
  void rows(const Tensor& whole, const Tensor& part, std::int64_t rows) const {
    expect(whole.dtype() == part.dtype(), "expects equal dtypes, got in ", call_.in.dtype(), " and out ",
           call_.out.dtype());
    expect(
        whole.rank() == part.rank() && whole.shape().tail(1) == part.shape().tail(1) && whole.size(0) == rows,
        "expects ", counted(rows, "row"), " like those of ", part, ", got ", whole);
  }

  // `part` may lie in `whole` only at byte `place`; a negative one: nowhere.
  void overlap(const Tensor& whole, const Tensor& part, std::int64_t place) const {
    const char* a = static_cast<const char*>(whole.raw());
    const char* b = static_cast<const char*>(part.raw());
    if (part.byte_size() == 0 || b + part.byte_size() <= a || a + whole.byte_size() <= b) return;
    expect(place >= 0 && b == a + place, "in and out overlap: in ", call_.in, ", out ", call_.out);
  }

  void allreduce() const {
    expect(!call_.tensors.empty(), "expects at least one tensor");
    for (const Tensor& data : call_.tensors) {
      tensor(data);
      reduction(data);
    }
    apart();
  }

  // What two tensors of a group share would be reduced twice.
  void apart() const {
    if (call_.tensors.size() < 2) return;
    std::vector<const Tensor*> tensors;
    for (const Tensor& data : call_.tensors)
      if (data.byte_size() > 0) tensors.push_back(&data);
    std::ranges::sort(tensors, {}, begin_of);
    const auto shared = std::ranges::adjacent_find(tensors, [](const Tensor* low, const Tensor* high) {
      return begin_of(high) < begin_of(low) + low->byte_size();
    });
    if (shared == tensors.end()) return;
    const auto [first, second] =
        std::minmax({shared[0] - call_.tensors.data(), shared[1] - call_.tensors.data()});
    expect(false, "tensors ", first, " and ", second, " overlap: ", call_.tensors[first], " and ",
           call_.tensors[second]);
  }
  static const char* begin_of(const Tensor* tensor) { return static_cast<const char*>(tensor->raw()); }

  void broadcast() const {
    expect(call_.root >= 0 && call_.root < size_, "root ", call_.root, " is not one of ",
           counted(size_, "rank"));
    for (const Tensor& data : call_.tensors) tensor(data);
  }

  void allgather() const {
    tensor(call_.in);
    has_rows(call_.in);
    if (call_.received) return;
    tensor(call_.out);
    rows(call_.out, call_.in, call_.in.size(0) * size_);
    overlap(call_.out, call_.in, rank_ * static_cast<std::int64_t>(call_.in.byte_size()));
  }

  void allgatherv() const {
    tensor(call_.in);
    has_rows(call_.in);
    tensor(call_.out);
    expect(call_.counts.size() == static_cast<std::size_t>(size_), "expects ", counted(size_, "count"),
           ", got ", call_.counts.size());
    for (const std::int64_t count : call_.counts) expect(count >= 0, "expects counts >= 0, got ", count);
    const auto own = call_.counts.begin() + rank_;
    rows(call_.out, call_.in, std::accumulate(call_.counts.begin(), call_.counts.end(), std::int64_t{0}));
    expect(call_.in.size(0) == *own, "expects ", counted(*own, "row"),
           " of this rank, as its counts say, got ", call_.in);
    overlap(call_.out, call_.in,
            std::accumulate(call_.counts.begin(), own, std::int64_t{0}) * row_bytes(call_.in));
  }

  void reduce_scatter() const {
    tensor(call_.in);
    reduction(call_.in);
    has_rows(call_.in);
    if (call_.received) return;
    tensor(call_.out);
    has_rows(call_.out);
    rows(call_.in, call_.out, call_.out.size(0) * size_);
    overlap(call_.in, call_.out, rank_ * static_cast<std::int64_t>(call_.out.byte_size()));
  }

  void alltoall() const {
    tensor(call_.in);
    has_rows(call_.in);
    if (call_.received) return splits();
    tensor(call_.out);
    rows(call_.out, call_.in, call_.in.size(0));
    expect(call_.in.size(0) % size_ == 0, "expects a multiple of ", counted(size_, "row"), ", got ",
           call_.in);
    overlap(call_.out, call_.in, -1);
  }

  void splits() const {
    expect(call_.counts.size() == static_cast<std::size_t>(size_), "expects ", size_, " splits, got ",
           call_.counts.size());
    for (const std::int64_t split : call_.counts) expect(split >= 0, "expects splits >= 0, got ", split);
    const std::int64_t sum = std::accumulate(call_.counts.begin(), call_.counts.end(), std::int64_t{0});
    expect(sum == call_.in.size(0), "splits ", list_of(call_.counts), " are ", counted(sum, "row"), ", got ",
           call_.in);
  }

  const Collective& call_;
  int rank_;
  int size_;
  TensorsIn memory_;
};

std::string tensors_of(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& tensor : tensors) text += cat(text.empty() ? "" : ", ", tensor);
  return text;
}

}  // namespace

std::string to_string(Reduction op) {
  switch (op) {
    case Reduction::sum:
      return "sum";
    case Reduction::average:
      return "average";
    case Reduction::min:
      return "min";
    case Reduction::max:
      return "max";
    case Reduction::product:
      break;
  }
  return "product";
}

std::string verb_of(const Collective& call) {
  const bool is_object = !call.type.empty();
  switch (call.verb) {
    case Verb::allreduce:
      return call.tensors.size() == 1 ? "allreduce" : "grouped_allreduce";
    case Verb::broadcast:
      return is_object ? "broadcast_object" : "broadcast";
    case Verb::allgather:
      return is_object ? "allgather_object" : "allgather";
    case Verb::allgatherv:
      return "allgatherv";
    case Verb::reduce_scatter:
      return "reduce_scatter";
    case Verb::alltoall:
      return "alltoall";
    case Verb::barrier:
      break;
  }
  return is_object ? "process_set" : "barrier";
}

std::string arguments_of(const Collective& call) {
  const bool is_object = !call.type.empty();
  switch (call.verb) {
    case Verb::allreduce:
      return cat(reduction_of(call), ", ", tensors_of(call.tensors));
    case Verb::broadcast:
      return cat(is_object ? call.type : tensors_of(call.tensors), ", root ", call.root);
    case Verb::allgather:
      if (is_object) break;
      return call.received ? rows_of(call.in) : to_string(call.in);
    case Verb::allgatherv:
      return cat(call.out, ", counts ", list_of(call.counts));
    case Verb::reduce_scatter:
      return cat(reduction_of(call), ", ", call.in, call.received ? " into a new tensor" : "");
    case Verb::alltoall:
      return call.received ? rows_of(call.in) : to_string(call.in);
    case Verb::barrier:
      break;
  }
  return call.type;
}

void check(const Collective& call, int rank, int size, TensorsIn memory) {
  Check(call, rank, size, memory).run();
}

std::int64_t row_bytes(const Tensor& tensor) {
  return tensor.shape().tail(1).count() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

}  // namespace ronde::inline v0
