#include "checks.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

const char* name_of(Reduction op) {
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

void check_tensor(const char* collective, const Tensor& tensor) {
  require<UsageError>(tensor.defined(), "[", collective, "] got an undefined tensor");
  require<UsageError>(tensor.is_contiguous(), "[", collective, "] expects contiguous tensors, got a view of ",
                      tensor);
  require<UsageError>(tensor.backend().device().type == DeviceType::cpu, "[", collective,
                      "] expects host memory, got ", tensor.backend().device());
}

void check_reduction(const char* collective, const Tensor& tensor, Reduction op) {
  require<UsageError>(op != Reduction::average || is_floating(tensor.dtype()), "[", collective,
                      "] average expects a floating dtype, got ", tensor.dtype());
}

// `whole` has the rows of `size` tensors like `part`.
void check_rows(const char* collective, const Tensor& whole, const Tensor& part, std::int64_t rows) {
  require<UsageError>(whole.dtype() == part.dtype(), "[", collective, "] expects equal dtypes, got in ",
                      part.dtype(), " and out ", whole.dtype());
  require<UsageError>(part.rank() >= 1 && whole.rank() == part.rank() &&
                          whole.shape().tail(1) == part.shape().tail(1) && whole.size(0) == rows,
                      "[", collective, "] expects ", rows, " rows like those of ", part, ", got ", whole);
}

}  // namespace

std::string check_allreduce(const Tensor& data, Reduction op) {
  check_tensor("allreduce", data);
  check_reduction("allreduce", data, op);
  return cat("allreduce(", name_of(op), ", ", data, ")");
}

std::string check_broadcast(const Tensor& data, int root, int size) {
  check_tensor("broadcast", data);
  require<UsageError>(root >= 0 && root < size, "[broadcast] root ", root, " is not one of ", size, " ranks");
  return cat("broadcast(", data, ", root ", root, ")");
}

std::string check_allgather(const Tensor& out, const Tensor& in, int size) {
  check_tensor("allgather", in);
  check_tensor("allgather", out);
  check_rows("allgather", out, in, in.rank() ? in.size(0) * size : 0);
  return cat("allgather(", in, ")");
}

std::string check_allgatherv(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts,
                             int rank, int size) {
  check_tensor("allgatherv", in);
  check_tensor("allgatherv", out);
  require<UsageError>(counts.size() == static_cast<std::size_t>(size), "[allgatherv] expects ", size,
                      " counts, got ", counts.size());
  std::int64_t rows = 0;
  std::string text;
  for (const std::int64_t count : counts) {
    require<UsageError>(count >= 0, "[allgatherv] expects counts >= 0, got ", count);
    rows += count;
    text += cat(text.empty() ? "" : ", ", count);
  }
  check_rows("allgatherv", out, in, rows);
  require<UsageError>(in.size(0) == counts[static_cast<std::size_t>(rank)], "[allgatherv] rank ", rank,
                      " said ", counts[static_cast<std::size_t>(rank)], " rows, but gives ", in);
  return cat("allgatherv(", out, ", counts ", text, ")");
}

std::string check_reduce_scatter(const Tensor& out, const Tensor& in, Reduction op, int size) {
  check_tensor("reduce_scatter", in);
  check_tensor("reduce_scatter", out);
  check_reduction("reduce_scatter", in, op);
  check_rows("reduce_scatter", in, out, out.rank() ? out.size(0) * size : 0);
  return cat("reduce_scatter(", name_of(op), ", ", in, ")");
}

std::string check_alltoall(const Tensor& out, const Tensor& in, int size) {
  check_tensor("alltoall", in);
  check_tensor("alltoall", out);
  check_rows("alltoall", out, in, in.rank() ? in.size(0) : 0);
  require<UsageError>(in.size(0) % size == 0, "[alltoall] expects a multiple of ", size, " rows, got ", in);
  return cat("alltoall(", in, ")");
}

std::int64_t row_bytes(const Tensor& tensor) {
  return tensor.shape().tail(1).count() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

}  // namespace ronde::inline v0
