/// TcpTransport: the collectives over a Mesh.
///
/// Note [Direct exchange]: everything but a broadcast is one exchange in which each rank sends every other
/// rank its part, all at the same time. That moves as many bytes over each rank's network as a ring does, in
/// one step instead of one for each rank, and it adds up in rank order, in float for bf16, whatever the size:
/// the bits do not depend on how a tensor is cut.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tcp/mesh.h"
#include "transport/reduction_scratch.h"
#include "transport/transport.h"

namespace ronde::inline v0 {

class TcpTransport final : public Transport {
 public:
  /// Tests make the pieces small in which sums are taken: so many bytes of other ranks' data at once.
  static constexpr std::int64_t kScratchBytes = 4 << 20;

  /// hosts[r] is that of rank r; `listen_host` is this rank's, for groups that are split from this one.
  TcpTransport(std::unique_ptr<Mesh> mesh, std::vector<std::string> hosts, std::string listen_host,
               std::int64_t scratch_bytes = kScratchBytes);

  std::string name() const override { return "tcp"; }
  Place place() const override { return place_; }
  bool is_independent() const override { return true; }

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
  std::int64_t piece(std::int64_t longest, DType dtype) const;

  std::unique_ptr<Mesh> mesh_;
  std::vector<std::string> hosts_;
  std::string listen_host_;
  std::int64_t scratch_bytes_;
  Place place_;
  ReductionScratch scratch_;
};

}  // namespace ronde::inline v0
