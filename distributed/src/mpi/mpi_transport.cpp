#include "mpi/mpi_transport.h"

#include <algorithm>
#include <cstring>

#include "reduction.h"

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

MPI_Op mpi_op(Reduction op) {
  switch (op) {
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
    case Reduction::product:
      return MPI_PROD;
    case Reduction::sum:
    case Reduction::average:
      break;
  }
  return MPI_SUM;
}

char* at(void* base, std::int64_t offset) {
  return static_cast<char*>(base) + offset;
}
const char* at(const void* base, std::int64_t offset) {
  return static_cast<const char*>(base) + offset;
}

std::vector<float> widen(const void* values, std::int64_t count) {
  const auto* from = static_cast<const bfloat16*>(values);
  std::vector<float> wide(static_cast<std::size_t>(count));
  std::transform(from, from + count, wide.begin(), [](bfloat16 x) { return static_cast<float>(x); });
  return wide;
}

void narrow(const std::vector<float>& wide, void* values) {
  std::transform(wide.begin(), wide.end(), static_cast<bfloat16*>(values),
                 [](float x) { return bfloat16(x); });
}

// Calls f(offset, length) for pieces of [0, count) of at most `largest` each.
template <class F>
void in_pieces(std::int64_t count, std::int64_t largest, F&& f) {
  for (std::int64_t offset = 0; offset < count; offset += largest) {
    f(offset, static_cast<int>(std::min(largest, count - offset)));
  }
}

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
  MPI_Comm_rank(node, &place.local_rank);
  MPI_Comm_size(node, &place.local_size);
  // Nodes are numbered in the order of their lowest ranks.
  int leader = place.rank;
  MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
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
bool MpiTransport::meet(std::int64_t number) {
  const std::int64_t own[2] = {number, ~number};
  std::int64_t largest[2] = {0, 0};
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(own, largest, 2, MPI_INT64_T, MPI_MAX, comm_, &request), "MPI_Iallreduce");
  runtime_->wait(request, "MPI_Iallreduce", place_.rank);
  return largest[0] == own[0] && largest[1] == own[1];
}

void MpiTransport::allreduce(void* data, std::int64_t count, DType dtype, Reduction op) {
  if (dtype == DType::bf16) {
    std::vector<float> wide = widen(data, count);
    allreduce(wide.data(), count, DType::f32, op);
    narrow(wide, data);
    return;
  }
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  in_pieces(count, largest_count_, [&](std::int64_t offset, int length) {
    check(MPI_Allreduce(MPI_IN_PLACE, at(data, offset * item), length, mpi_type(dtype), mpi_op(op), comm_),
          "allreduce");
  });
  if (op == Reduction::average) divide(data, count, dtype, place_.size);
}

void MpiTransport::broadcast(void* data, std::int64_t bytes, int root) {
  in_pieces(bytes, largest_count_, [&](std::int64_t offset, int length) {
    check(MPI_Bcast(at(data, offset), length, MPI_BYTE, root, comm_), "broadcast");
  });
}

void MpiTransport::allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) {
  std::vector<int> counts, offsets;
  std::int64_t total = 0;
  for (const std::int64_t b : bytes) {
    counts.push_back(static_cast<int>(std::min(b, kLargestCount)));
    offsets.push_back(static_cast<int>(std::min(total, kLargestCount)));
    total += b;
  }
  if (total <= largest_count_) {
    const int own = counts[static_cast<std::size_t>(place_.rank)];
    check(MPI_Allgatherv(in, own, MPI_BYTE, out, counts.data(), offsets.data(), MPI_BYTE, comm_),
          "allgather");
    return;
  }
  std::int64_t offset = 0;
  for (int r = 0; r < place_.size; ++r) {
    const std::int64_t length = bytes[static_cast<std::size_t>(r)];
    if (r == place_.rank && length > 0) std::memcpy(at(out, offset), in, static_cast<std::size_t>(length));
    broadcast(at(out, offset), length, r);
    offset += length;
  }
}

void MpiTransport::reduce_scatter(void* out, const void* in, std::int64_t count, DType dtype, Reduction op) {
  if (dtype == DType::bf16) {
    const std::vector<float> wide = widen(in, count * place_.size);
    std::vector<float> part(static_cast<std::size_t>(count));
    reduce_scatter(part.data(), wide.data(), count, DType::f32, op);
    narrow(part, out);
    return;
  }
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  if (count * place_.size <= largest_count_) {
    check(MPI_Reduce_scatter_block(in, out, static_cast<int>(count), mpi_type(dtype), mpi_op(op), comm_),
          "reduce_scatter");
  } else {
    for (int r = 0; r < place_.size; ++r) {
      in_pieces(count, largest_count_, [&](std::int64_t offset, int length) {
        check(MPI_Reduce(at(in, (r * count + offset) * item), at(out, offset * item), length, mpi_type(dtype),
                         mpi_op(op), r, comm_),
              "reduce_scatter");
      });
    }
  }
  if (op == Reduction::average) divide(out, count, dtype, place_.size);
}

void MpiTransport::alltoall(void* out, const void* in, std::int64_t bytes) {
  if (bytes <= largest_count_) {
    const int length = static_cast<int>(bytes);
    check(MPI_Alltoall(in, length, MPI_BYTE, out, length, MPI_BYTE, comm_), "alltoall");
    return;
  }
  // In round k everybody sends to the rank k places further on.
  for (int k = 0; k < place_.size; ++k) {
    const int to = (place_.rank + k) % place_.size;
    const int from = (place_.rank - k + place_.size) % place_.size;
    in_pieces(bytes, largest_count_, [&](std::int64_t offset, int length) {
      check(MPI_Sendrecv(at(in, to * bytes + offset), length, MPI_BYTE, to, k, at(out, from * bytes + offset),
                         length, MPI_BYTE, from, k, comm_, MPI_STATUS_IGNORE),
            "alltoall");
    });
  }
}

std::unique_ptr<Transport> MpiTransport::split(int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, color < 0 ? MPI_UNDEFINED : color, key, &part), "split");
  if (part == MPI_COMM_NULL) return nullptr;
  return std::make_unique<MpiTransport>(*runtime_, part, largest_count_);
}

}  // namespace ronde::inline v0
