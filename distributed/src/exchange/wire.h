/// Wire: blocking collectives that count what this rank sends, as the best algorithm for each would.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

class Wire {
 public:
  Wire(Communicator& communicator, std::atomic<std::int64_t>& bytes)
      : communicator_(communicator), bytes_(bytes) {}

  void sum(const Tensor& data) {
    communicator_.allreduce(data).wait();
    count_sum(data);
  }
  /// For a sum that somebody else starts.
  void count_sum(const Tensor& data) { add(2 * share(data)); }
  void gather(const Tensor& out, const Tensor& in) {
    communicator_.allgather(out, in).wait();
    add(share(out));
  }
  void broadcast(const Tensor& data, int root) {
    communicator_.broadcast(data, root).wait();
    add(share(data));
  }
  /// counts[r] rows of rank r.
  void gather(const Tensor& out, const Tensor& in, const std::vector<std::int64_t>& counts) {
    communicator_.allgatherv(out, in, counts).wait();
    add(share(out));
  }
  void exchange(const Tensor& out, const Tensor& in) {
    communicator_.alltoall(out, in).wait();
    add(share(in));
  }
  void sum_scatter(const Tensor& out, const Tensor& in) {
    communicator_.reduce_scatter(out, in).wait();
    add(share(in));
  }

  std::int64_t ranks() const { return communicator_.size(); }

 private:
  /// (n - 1) / n of its bytes.
  double share(const Tensor& whole) const {
    const double ranks = communicator_.size();
    return static_cast<double>(whole.byte_size()) * (ranks - 1.0) / ranks;
  }
  void add(double bytes) { bytes_ += static_cast<std::int64_t>(bytes); }

  Communicator& communicator_;
  std::atomic<std::int64_t>& bytes_;
};

}  // namespace ronde::inline v0
