#include "shm/hierarchical_transport.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "distributed/collective_values.h"
#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"
#include "distributed/node_ranks.h"
#include "shm/with_shared_memory.h"

namespace ronde::test {
namespace {

/// Pretends that ranks are on nodes of `per_node` ranks each, the last of which may have fewer.
class PretendNodes final : public Transport {
 public:
  PretendNodes(std::unique_ptr<Transport> real, int per_node, bool is_whole = true)
      : real_(std::move(real)), per_node_(per_node), is_whole_(is_whole) {}

  std::string name() const override { return "pretended"; }
  Place place() const override {
    const Place p = real_->place();
    if (!is_whole_) return {p.rank, p.size, p.rank, p.size, 0, 1};
    const int node = p.rank / per_node_;
    return {p.rank,
            p.size,
            p.rank % per_node_,
            std::min(per_node_, p.size - node * per_node_),
            node,
            (p.size + per_node_ - 1) / per_node_};
  }
  bool is_independent() const override { return true; }
  bool meet(std::int64_t number, std::int64_t& notice, const Announcement& next) override {
    return real_->meet(number, notice, next);
  }
  void reserve(const ReductionSize& reduction) override {
    reserved = reduction.count;
    real_->reserve(reduction);
  }
  void allreduce(void* data, std::int64_t count, DType dtype, Reduction op) override {
    real_->allreduce(data, count, dtype, op);
  }
  void broadcast(void* data, std::int64_t bytes, int root) override { real_->broadcast(data, bytes, root); }
  void allgatherv(void* out, const void* in, const std::vector<std::int64_t>& bytes) override {
    real_->allgatherv(out, in, bytes);
  }
  void reduce_scatter(void* out, const void* in, const std::vector<std::int64_t>& counts, DType dtype,
                      Reduction op) override {
    real_->reduce_scatter(out, in, counts, dtype, op);
  }
  void alltoallv(void* out, const std::vector<std::int64_t>& out_bytes, const void* in,
                 const std::vector<std::int64_t>& in_bytes) override {
    real_->alltoallv(out, out_bytes, in, in_bytes);
  }
  // Parts are taken for one node: in these tests that makes no difference to anything but their names.
  std::unique_ptr<Transport> split(int color, int key) override {
    std::unique_ptr<Transport> part = real_->split(color, key);
    if (!part) return nullptr;
    return std::make_unique<PretendNodes>(std::move(part), per_node_, false);
  }

  std::int64_t reserved = 0;  // elements of the reduction that was announced last

 private:
  std::unique_ptr<Transport> real_;
  int per_node_;
  bool is_whole_;
};

struct Nodes {
  int ranks, per_node;
};

void run_on_nodes(Nodes nodes, AllreducePath path, const std::function<void(Communicator&)>& f) {
  run_node_transports(nodes.ranks, [&](std::unique_ptr<NodeTransport> transport) {
    auto base = std::make_unique<PretendNodes>(std::move(transport), nodes.per_node);
    QueuedCommunicator communicator(with_shared_memory(std::move(base), {.path = path}),
                                    std::make_shared<WorkerThread>());
    f(communicator);
  });
}

class HierarchicalTest : public testing::TestWithParam<Nodes> {};

// More than there is, wherever it would be taken: below, or here.
TEST(HierarchicalTransport, GetsItsMemoryBeforeTheRanksMeet) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  run_node_transports(4, [](std::unique_ptr<NodeTransport> transport) {
    auto base = std::make_unique<PretendNodes>(std::move(transport), 2);
    PretendNodes& below = *base;
    const auto levels = with_shared_memory(std::move(base), {.path = AllreducePath::hierarchical});
    EXPECT_THROW(levels->reserve({.count = kMost, .part = kMost, .dtype = DType::bf16}), Error);
    EXPECT_EQ(below.reserved, 0);
    levels->reserve({.count = kMost, .part = kMost, .dtype = DType::f32});  // takes none
    levels->reserve({.count = 7, .part = 4, .dtype = DType::bf16, .is_scattered = true});
    EXPECT_EQ(below.reserved, 7);
    levels->reserve({});
    EXPECT_EQ(below.reserved, 0);
  });
}

// All others are the transport's below.
TEST_P(HierarchicalTest, Allreduce) {
  run_on_nodes(GetParam(), AllreducePath::hierarchical, [](Communicator& c) {
    check_allreduce(c);
    check_scales(c);
    check_grouped(c);
    check_many_in_flight(c);
  });
}
TEST_P(HierarchicalTest, Contract) {
  run_on_nodes(GetParam(), AllreducePath::hierarchical, check_contract);
}
TEST_P(HierarchicalTest, SharedTensors) {
  run_on_nodes(GetParam(), AllreducePath::hierarchical, [](Communicator& c) {
    EXPECT_EQ(c.transport(), cat("shared memory on each of ", c.cross_size(), " nodes, pretended, ", c.size(),
                                 " ranks between them"));
    const Tensor tensor = c.shared_tensor({50021}, host(DType::f32));
    for (const Reduction op : {Reduction::sum, Reduction::average, Reduction::max}) {
      tensor.copy_from(make_input(c.rank(), {50021}, DType::f32));
      c.allreduce(tensor, op).wait();
      expect_values(
          tensor, [&](std::int64_t i) { return reduced(c.size(), i, DType::f32, op); },
          tolerance(c.size(), DType::f32), "shared tensor");
      expect_same_bits(c, tensor, "shared tensor");
    }
  });
}
INSTANTIATE_TEST_SUITE_P(Nodes, HierarchicalTest,
                         testing::Values(Nodes{2, 1}, Nodes{4, 2}, Nodes{3, 2}, Nodes{5, 3}),
                         [](const auto& p) { return cat(p.param.ranks, "by", p.param.per_node); });

TEST(WithSharedMemory, OneNodeNeedsNothingElse) {
  run_on_nodes({2, 2}, AllreducePath::automatic, [](Communicator& c) {
    EXPECT_EQ(c.transport(), "shared memory, 2 ranks");
    EXPECT_EQ(c.name(), "pretended");
    check_some_collectives(c);
  });
}

TEST(WithSharedMemory, MeasuresOnSeveralNodes) {
  run_on_nodes({4, 2}, AllreducePath::automatic, [](Communicator& c) {
    // Whatever it is, all found the same.
    const std::vector<std::string> all = allgather_strings(c, c.transport());
    EXPECT_EQ(std::count(all.begin(), all.end(), all.front()), 4);
    check_some_collectives(c);
  });
}

TEST(WithSharedMemory, DoesWhatItIsTold) {
  run_on_nodes({2, 2}, AllreducePath::mpi,
               [](Communicator& c) { EXPECT_EQ(c.transport(), "pretended, 2 ranks"); });
  run_node_transports(2, [](std::unique_ptr<NodeTransport> transport) {
    auto base = std::make_unique<PretendNodes>(std::move(transport), 1);
    try {
      with_shared_memory(std::move(base), {.path = AllreducePath::node});
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "RONDE_ALLREDUCE=node expects ranks on one node, but they are on 2");
      EXPECT_EQ(error.status(), ExitStatus::usage);
    }
  });
}

TEST(AllreducePath, IsReadFromTheEnvironment) {
  unsetenv("RONDE_ALLREDUCE");
  EXPECT_EQ(allreduce_path_from_environment(), AllreducePath::automatic);
  for (const auto path :
       {AllreducePath::automatic, AllreducePath::mpi, AllreducePath::node, AllreducePath::hierarchical}) {
    setenv("RONDE_ALLREDUCE", to_string(path).c_str(), 1);
    EXPECT_EQ(allreduce_path_from_environment(), path);
  }
  setenv("RONDE_ALLREDUCE", "ring", 1);
  EXPECT_THROW(allreduce_path_from_environment(), UsageError);
  unsetenv("RONDE_ALLREDUCE");
}

}  // namespace
}  // namespace ronde::test
