/// MpiTransport: the collectives over an MPI communicator. Counts may be as large as memory allows: MPI's are
/// ints, so larger operations are cut into pieces.
#pragma once

#include <limits>
#include <memory>

#include "mpi/mpi_runtime.h"
#include "transport/reduction_scratch.h"
#include "transport/transport.h"

namespace ronde::inline v0 {

class MpiTransport final : public Transport {
 public:
  static constexpr std::int64_t kLargestCount = std::numeric_limits<int>::max();

  /// Takes over `comm`. No MPI call moves more than `largest_count` elements; tests make it small.
  MpiTransport(const MpiRuntime& runtime, MPI_Comm comm, std::int64_t largest_count = kLargestCount);
  ~MpiTransport() override;

  std::string name() const override { return "mpi"; }
  Place place() const override { return place_; }

  bool is_independent() const override { return runtime_->allows_threads(); }
  bool meet(std::int64_t number, std::int64_t& notice, const Announcement& next) override;
  void reserve(const ReductionSize& reduction) override;
  void allreduce(void* data, std::int64_t count, DType dtype, Reduction op) override;
  void broadcast(void* data, std::int64_t bytes, int root) override;
  void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) override;
  void reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts, DType dtype,
                      Reduction op) override;
  void alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                 const std::vector<std::int64_t>& in_bytes) override;
  std::unique_ptr<Transport> split(int color, int key) override;

 private:
  void check(int code, const char* what) const { check_mpi(code, what, place_.rank); }
  Place find_place() const;

  const MpiRuntime* runtime_;  // owned by the communicator, together with the executor
  MPI_Comm comm_;
  std::int64_t largest_count_;
  Place place_;
  ReductionScratch scratch_;
};

}  // namespace ronde::inline v0
