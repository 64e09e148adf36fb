#include "mpi/mpi_transport.h"

#include <algorithm>
#include <cstring>

#include "transport/memory_copy.h"
#include "transport/reduction.h"

namespace ronde::inline v0 {
namespace {

MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::u8:
      return MPI_UINT8_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::bf16:
      break;
  }
  throw Error("[mpi] has no bf16; it is reduced as f32");
}

DType from_mpi(MPI_Datatype type) {
  for (const DType dtype : {DType::f64, DType::u8, DType::i32, DType::i64})
    if (type == mpi_type(dtype)) return dtype;
  return DType::f32;
}

template <Reduction op>
void combine(void* in, void* in_out, int* count, MPI_Datatype* type) {
  reduce({in_out}, 0, {in, in_out}, 0, *count, from_mpi(*type), op);
}

template <Reduction op>
MPI_Op own_op() {
  // Of the process, which has one MPI. Whoever runs this is the thread that makes MPI's calls.
  static const MPI_Op made = [] {
    MPI_Op made_now = MPI_OP_NULL;
    check_mpi(MPI_Op_create(&combine<op>, 1, &made_now), "MPI_Op_create", 0);
    return made_now;
  }();
  return made;
}

// Note [What MPI reduces]: sums of four and of eight bytes. Open MPI adds bytes so that some of them stop at
// 255 and others wrap around, and its smallest and largest of floats lose a NaN or keep it, both by where in
// the tensor a value stands; of products little is known.
MPI_Op mpi_op(Reduction op, DType dtype) {
  switch (op) {
    case Reduction::min:
      return own_op<Reduction::min>();
    case Reduction::max:
      return own_op<Reduction::max>();
    case Reduction::product:
      return own_op<Reduction::product>();
    case Reduction::sum:
    case Reduction::average:
      break;
  }
  return size_of(dtype) < 4 ? own_op<Reduction::sum>() : MPI_SUM;
}

// Calls f(offset, length) for pieces of [0, count) of at most `largest` each.
template <class F>
void in_pieces(std::int64_t count, std::int64_t largest, F&& f) {
  for (std::int64_t offset = 0; offset < count; offset += largest) {
    f(offset, static_cast<int>(std::min(largest, count - offset)));
  }
}

// Parts of all ranks, one after the other; as MPI's ints too, which are right if the total fits into one.
struct Layout {
  explicit Layout(const std::vector<std::int64_t>& lengths) {
    for (const std::int64_t length : lengths) {
      begin.push_back(total);
      counts.push_back(static_cast<int>(std::min(length, MpiTransport::kLargestCount)));
      offsets.push_back(static_cast<int>(std::min(total, MpiTransport::kLargestCount)));
      total += length;
    }
  }
  std::int64_t total = 0;
  std::vector<std::int64_t> begin;
  std::vector<int> counts, offsets;
};

}  // namespace

MpiTransport::MpiTransport(const MpiRuntime& runtime, MPI_Comm comm, std::int64_t largest_count)
    : runtime_(&runtime), comm_(comm), largest_count_(largest_count) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  place_ = find_place();
}

MpiTransport::~MpiTransport() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized) MPI_Comm_free(&comm_);
}

Place MpiTransport::find_place() const {
  Place place;
  check(MPI_Comm_rank(comm_, &place.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &place.size), "MPI_Comm_size");
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, place.rank, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
  check(MPI_Comm_rank(node, &place.local_rank), "MPI_Comm_rank");
  check(MPI_Comm_size(node, &place.local_size), "MPI_Comm_size");
  // Nodes are numbered in the order of their lowest ranks.
  int leader = place.rank;
  check(MPI_Bcast(&leader, 1, MPI_INT, 0, node), "MPI_Bcast");
  check(MPI_Comm_free(&node), "MPI_Comm_free");
  std::vector<int> leaders(static_cast<std::size_t>(place.size));
  check(MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, comm_), "MPI_Allgather");
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  place.cross_rank =
      static_cast<int>(std::lower_bound(leaders.begin(), leaders.end(), leader) - leaders.begin());
  place.cross_size = static_cast<int>(leaders.size());
  return place;
}

// The largest number and the largest complement: both are one's own exactly when all numbers are equal. See
// Note [Meeting] and Note [Waiting for ranks].
bool MpiTransport::meet(std::int64_t number, std::int64_t& notice, const Announcement&) {
  runtime_->check_may_call();
  const std::int64_t own[3] = {number, ~number, notice};
  std::int64_t largest[3] = {0, 0, 0};
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(own, largest, 3, MPI_INT64_T, MPI_MAX, comm_, &request), "MPI_Iallreduce");
  runtime_->wait(request, "MPI_Iallreduce", place_.rank);
  notice = largest[2];
  return largest[0] == own[0] && largest[1] == own[1];
}

void MpiTransport::reserve(const ReductionSize& reduction) {
  const std::int64_t part = reduction.is_scattered ? reduction.part : 0;
  const auto item = static_cast<std::int64_t>(size_of(reduction.dtype));
  if (reduction.dtype == DType::bf16) {
    scratch_.reserve((reduction.count + part) * std::int64_t{sizeof(float)});
  } else {
    scratch_.reserve(reduction.is_in_place ? part * item : 0);
  }
}

void MpiTransport::allreduce(void* data, std::int64_t count, DType dtype, Reduction op) {
  if (dtype == DType::bf16) {
    float* wide = scratch_.get<float>(count);
    widen(data, count, wide);
    allreduce(wide, count, DType::f32, op);
    narrow(wide, count, data);
    return;
  }
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  in_pieces(count, largest_count_, [&](std::int64_t offset, int length) {
    check(MPI_Allreduce(MPI_IN_PLACE, byte_at(data, offset * item), length, mpi_type(dtype),
                        mpi_op(op, dtype), comm_),
          "allreduce");
  });
  if (op == Reduction::average) divide(data, count, dtype, place_.size);
}

void MpiTransport::broadcast(void* data, std::int64_t bytes, int root) {
  in_pieces(bytes, largest_count_, [&](std::int64_t offset, int length) {
    check(MPI_Bcast(byte_at(data, offset), length, MPI_BYTE, root, comm_), "broadcast");
  });
}

void MpiTransport::allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) {
  const Layout layout(bytes);
  const auto own = static_cast<std::size_t>(place_.rank);
  // In place on all ranks, as MPI asks for: not on some.
  void* const place = byte_at(out, layout.begin[own]);
  if (in != place && bytes[own] > 0) std::memcpy(place, in, static_cast<std::size_t>(bytes[own]));
  if (layout.total <= largest_count_) {
    check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, out, layout.counts.data(), layout.offsets.data(),
                         MPI_BYTE, comm_),
          "allgather");
    return;
  }
  for (int r = 0; r < place_.size; ++r) {
    const auto k = static_cast<std::size_t>(r);
    broadcast(byte_at(out, layout.begin[k]), bytes[k], r);
  }
}

void MpiTransport::reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts,
                                  DType dtype, Reduction op) {
  const Layout layout(counts);
  const std::int64_t own = counts[static_cast<std::size_t>(place_.rank)];
  if (dtype == DType::bf16) {
    float* wide = scratch_.get<float>(layout.total + own);
    float* part = wide + layout.total;
    widen(in, layout.total, wide);
    reduce_scatter(part, wide, counts, DType::f32, op);
    narrow(part, own, out);
    return;
  }
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  if (own > 0 && out == byte_at(in, layout.begin[static_cast<std::size_t>(place_.rank)] * item)) {
    // Not in place: MPI_IN_PLACE would use the others' places too.
    char* part = scratch_.get<char>(own * item);
    reduce_scatter(part, in, counts, dtype, op);
    std::memcpy(out, part, static_cast<std::size_t>(own * item));
    return;
  }
  if (layout.total <= largest_count_) {
    check(MPI_Reduce_scatter(in, out, layout.counts.data(), mpi_type(dtype), mpi_op(op, dtype), comm_),
          "reduce_scatter");
  } else {
    for (int r = 0; r < place_.size; ++r) {
      const auto k = static_cast<std::size_t>(r);
      in_pieces(counts[k], largest_count_, [&](std::int64_t offset, int length) {
        check(MPI_Reduce(byte_at(in, (layout.begin[k] + offset) * item), byte_at(out, offset * item), length,
                         mpi_type(dtype), mpi_op(op, dtype), r, comm_),
              "reduce_scatter");
      });
    }
  }
  if (op == Reduction::average) divide(out, own, dtype, place_.size);
}

void MpiTransport::alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                             const std::vector<std::int64_t>& in_bytes) {
  const Layout to(in_bytes);
  const Layout from(out_bytes);
  const auto own = static_cast<std::size_t>(place_.rank);
  if (in_bytes[own] > 0)
    std::memcpy(byte_at(out, from.begin[own]), byte_at(in, to.begin[own]),
                static_cast<std::size_t>(in_bytes[own]));
  // Not MPI_Alltoallv: whether all counts fit into its ints, the ranks would have to agree on first.
  std::vector<MPI_Request> requests;
  for (int k = 1; k < place_.size; ++k) {
    const int target = (place_.rank + k) % place_.size;
    const int source = (place_.rank - k + place_.size) % place_.size;
    const auto t = static_cast<std::size_t>(target);
    const auto s = static_cast<std::size_t>(source);
    in_pieces(out_bytes[s], largest_count_, [&](std::int64_t offset, int length) {
      check(MPI_Irecv(byte_at(out, from.begin[s] + offset), length, MPI_BYTE, source, 0, comm_,
                      &requests.emplace_back()),
            "alltoall");
    });
    in_pieces(in_bytes[t], largest_count_, [&](std::int64_t offset, int length) {
      check(MPI_Isend(byte_at(in, to.begin[t] + offset), length, MPI_BYTE, target, 0, comm_,
                      &requests.emplace_back()),
            "alltoall");
    });
  }
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "alltoall");
}

std::unique_ptr<Transport> MpiTransport::split(int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, color < 0 ? MPI_UNDEFINED : color, key, &part), "split");
  if (part == MPI_COMM_NULL) return nullptr;
  return std::make_unique<MpiTransport>(*runtime_, part, largest_count_);
}

}  // namespace ronde::inline v0
