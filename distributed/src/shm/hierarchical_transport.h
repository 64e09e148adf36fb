/// HierarchicalTransport: ranks on several nodes. An all-reduce sums inside each node through shared memory,
/// then between nodes: rank i of each node reduces slice i and sums it with the other nodes' slices i, so
/// that each byte crosses the network as few times as if a node were one rank. Where nodes have unequal
/// numbers of ranks, the first rank of each does it all. Everything else takes the transport below.
#pragma once

#include <functional>
#include <memory>

#include "shm/node_transport.h"
#include "transport/reduction_scratch.h"

namespace ronde::inline v0 {

class HierarchicalTransport final : public Transport {
 public:
  /// Makes something better of a part of `base`.
  using Refine = std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport> part)>;

  /// `base`: all ranks; `node`: those of this node, by local rank. Collective.
  HierarchicalTransport(std::unique_ptr<Transport> base, std::unique_ptr<NodeTransport> node, Refine refine);

  std::string name() const override { return base_->name(); }
  Place place() const override { return base_->place(); }
  std::string description() const override;

  bool is_independent() const override { return base_->is_independent(); }

  bool meet(std::int64_t number, std::int64_t& notice, const Announcement& next) override {
    return base_->meet(number, notice, next);
  }
  void reserve(const ReductionSize& reduction) override;
  void allreduce(void* data, std::int64_t count, DType dtype, Reduction op) override;
  void broadcast(void* data, std::int64_t bytes, int root) override { base_->broadcast(data, bytes, root); }
  void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) override {
    base_->allgatherv(out, in, bytes);
  }
  void reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts, DType dtype,
                      Reduction op) override {
    base_->reduce_scatter(out, in, counts, dtype, op);
  }
  void alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                 const std::vector<std::int64_t>& in_bytes) override {
    base_->alltoallv(out, out_bytes, in, in_bytes);
  }
  std::shared_ptr<void> share(std::int64_t bytes) override { return node_->share(bytes); }
  std::unique_ptr<Transport> split(int color, int key) override;

  /// Gives up the levels.
  std::unique_ptr<Transport> release_base() { return std::move(base_); }

 private:
  std::unique_ptr<Transport> base_;
  std::unique_ptr<NodeTransport> node_;
  Refine refine_;
  int slices_ = 1;                    // ranks of a node that take part between nodes
  std::unique_ptr<Transport> cross_;  // those with this rank's place in their nodes; nullptr for the others
  ReductionScratch scratch_;
};

}  // namespace ronde::inline v0
