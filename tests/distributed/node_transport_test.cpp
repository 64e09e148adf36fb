#include "shm/node_transport.h"

#include <atomic>
#include <cstring>
#include <ctime>

#include <gtest/gtest.h>

#include "distributed/collective_values.h"
#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"
#include "distributed/node_ranks.h"

namespace ronde::test {
namespace {

// Elements of f32 that fill a stage.
constexpr std::int64_t kStage = NodeGroup::kStageBytes / 4;

class NodeTransportTest : public testing::TestWithParam<int> {};

TEST_P(NodeTransportTest, Collectives) {
  run_node_ranks(GetParam(), GetParam() > 5 ? check_some_collectives : check_collectives);
}
TEST_P(NodeTransportTest, Contract) {
  run_node_ranks(GetParam(), check_contract);
}
TEST_P(NodeTransportTest, GroupsAtOnce) {
  run_node_ranks(GetParam(), check_groups_at_once);
}
INSTANTIATE_TEST_SUITE_P(Ranks, NodeTransportTest, testing::Values(1, 2, 3, 4, 5, 7, 8, 16),
                         [](const auto& p) { return std::to_string(p.param); });

float element(int r, std::int64_t i) {
  return static_cast<float>(0.1 + 0.7 * r + static_cast<double>(i % 1013) / 1013.0);
}

void fill(const Tensor& tensor, int r) {
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] = element(r, i);
}

// Float additions in rank order, one after the other.
float sum_in_order(int size, std::int64_t i) {
  float sum = element(0, i);
  for (int r = 1; r < size; ++r) sum += element(r, i);
  return sum;
}

void expect_sums(const Tensor& tensor, int size, const char* what) {
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    if (tensor.data<float>()[i] == sum_in_order(size, i)) continue;
    ADD_FAILURE() << what << ": element " << i << " of " << tensor.count() << " is "
                  << tensor.data<float>()[i] << ", expected " << sum_in_order(size, i);
    return;
  }
}

const TensorOptions kF32 = host(DType::f32);

// Wherever the data lie and however many pieces they take.
TEST(NodeTransport, SumsAreTheSameBitsOnAllWays) {
  run_node_ranks(3, [](Communicator& c) {
    for (const std::int64_t n : {kStage - 1, kStage, kStage + 1, 5 * kStage + 17}) {
      const Tensor own = Tensor::empty({n}, kF32);
      fill(own, c.rank());
      c.allreduce(own).wait();
      expect_sums(own, 3, "own memory");
      const Tensor shared = c.shared_tensor({n}, kF32);
      EXPECT_EQ(shared.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(n), 0.0f));
      fill(shared, c.rank());
      c.allreduce(shared).wait();
      expect_sums(shared, 3, "shared memory");
      // One rank alone has it in memory of its own.
      const Tensor mixed = c.rank() == 1 ? own : shared;
      fill(mixed, c.rank());
      c.allreduce(mixed).wait();
      expect_sums(mixed, 3, "mixed memory");
    }
  });
}

// Few, medium and many bytes of every dtype, straight from shared memory: what they give in memory of a
// rank's own.
TEST(NodeTransport, SharedTensorsOfAllTypes) {
  for (const int ranks : {2, 5})
    run_node_ranks(ranks, [](Communicator& c) {
      for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::u8, DType::i32, DType::i64})
        for (const std::int64_t n : {700, 20000, 600000})
          for (const Reduction op : {Reduction::sum, Reduction::max}) {
            const Tensor own = make_input(c.rank(), {n}, dtype);
            const Tensor shared = c.shared_tensor({n}, host(dtype));
            shared.copy_from(own);
            c.allreduce(own, op).wait();
            c.allreduce(shared, op).wait();
            const std::string what = cat(to_string(op), " of ", own);
            EXPECT_EQ(std::memcmp(shared.raw(), own.raw(), own.byte_size()), 0) << what;
            expect_same_bits(c, shared, what);
            const Tensor end = shared.slice(0, n - 97, n);
            expect_values(
                end, [&](std::int64_t i) { return reduced(c.size(), n - 97 + i, dtype, op); },
                tolerance(c.size(), dtype), what);
          }
    });
}

// Meetings do part of what follows them: see Note [Ahead of a meeting]. Sizes that take each way, in turn and
// without a pause, some that are scaled first, and calls in between that no rank may take for the ones
// announced.
TEST(NodeTransport, AllWaysInTurn) {
  run_node_ranks(3, [](Communicator& c) {
    constexpr std::int64_t kSizes[] = {1, 700, 5000, 40000, 90000, 3};
    const Tensor shared = c.shared_tensor({90001}, kF32), own = Tensor::zeros({90001}, kF32);
    for (int k = 0; k < 120; ++k) {
      const std::int64_t n = kSizes[k % 6];
      if (k % 7 == 3) {
        const Tensor odd = shared.view(0, {n + (c.rank() == k % 3 ? 1 : 0)});
        EXPECT_THROW(c.allreduce(odd).wait(), CollectiveError);
      }
      if ((k + c.rank()) % 11 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      const Tensor data = (k % 5 == 0 ? own : shared).view(0, {n});
      data.fill(k + c.rank());
      const double scale = k % 4 == 1 ? 2.0 : 1.0;
      const bool is_max = k % 3 == 2;
      c.allreduce(data, {.op = is_max ? Reduction::max : Reduction::sum, .prescale = scale}).wait();
      const double expected = scale * (is_max ? k + 2 : 3 * k + 3);
      for (const std::int64_t i : {std::int64_t{0}, n / 2, n - 1})
        ASSERT_EQ(data.data<float>()[i], expected) << "call " << k << ", element " << i << " of " << n;
    }
  });
}

// The ranks wait for each other in the meeting alone: one gets its sum while the other has not come to it.
TEST(NodeTransport, SmallAndMediumSumsWaitForNobodyAfterTheirMeeting) {
  for (const std::int64_t n : {700, 40000}) {
    std::atomic<bool> is_done = false;
    run_node_transports(2, [&](std::unique_ptr<NodeTransport> transport) {
      const int rank = transport->place().rank;
      const auto shared = transport->share(4 * n);
      auto* data = static_cast<float*>(shared.get());
      for (std::int64_t i = 0; i < n; ++i) data[i] = element(rank, i);
      std::int64_t notice = 0;
      ASSERT_TRUE(transport->meet(1, notice, {.in = data, .count = n}));
      for (int ms = 0; rank == 1 && !is_done && ms < 10000; ++ms)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(is_done, rank == 1) << n << " elements";
      transport->allreduce(data, n, DType::f32, Reduction::sum);
      is_done = true;
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(data[i], sum_in_order(2, i)) << i;
    });
  }
}

TEST(NodeTransport, SlicesOfSharedTensors) {
  run_node_ranks(2, [](Communicator& c) {
    const Tensor first = c.shared_tensor({kStage}, kF32);
    const Tensor whole = c.shared_tensor({4 * kStage}, kF32);
    // Not at the same place on all ranks, nor on a cache line.
    const Tensor slice = whole.view(5 + 96 * c.rank(), {2 * kStage + 3});
    fill(first, c.rank());
    fill(slice, c.rank());
    const Work works[] = {c.allreduce(slice), c.allreduce(first)};
    for (const Work& work : works) work.wait();
    expect_sums(slice, 2, "slice");
    expect_sums(first, 2, "another tensor");
    EXPECT_EQ(whole.to_vector<float>()[4], 0.0f);
    EXPECT_EQ(whole.to_vector<float>()[static_cast<std::size_t>(5 + 96 * c.rank() + slice.count())], 0.0f);
  });
}

// A share that is gone is not taken for one that lives, on whatever rank it lives on.
TEST(NodeTransport, SharedTensorsComeAndGo) {
  run_node_ranks(2, [](Communicator& c) {
    Tensor kept;
    for (int k = 0; k < 5; ++k) {
      const Tensor tensor = c.shared_tensor({kStage}, kF32);
      fill(tensor, c.rank());
      c.allreduce(tensor).wait();
      expect_sums(tensor, 2, "tensor");
      if (c.rank() == 0) kept = tensor;
      if (!kept.defined()) continue;
      fill(kept, 0);
    }
    const Tensor own = c.rank() == 0 ? kept : Tensor::empty({kStage}, kF32);
    fill(own, c.rank());
    c.allreduce(own).wait();
    expect_sums(own, 2, "kept by one rank");
  });
}

// Every other collective, out of and into shared memory, in several pieces.
void check_moves(Communicator& c, const Tensor& in, const Tensor& out) {
  const int n = c.size();
  const std::int64_t rows = in.count() / n;
  fill(in, c.rank());
  c.alltoall(out, in).wait();
  for (std::int64_t i = 0; i < in.count(); ++i)
    ASSERT_EQ(out.data<float>()[i], element(static_cast<int>(i / rows), c.rank() * rows + i % rows)) << i;
  const Tensor mine = in.view(0, {rows});
  c.allgather(out, mine).wait();
  for (std::int64_t i = 0; i < out.count(); ++i)
    ASSERT_EQ(out.data<float>()[i], element(static_cast<int>(i / rows), i % rows)) << i;
  const Tensor part = out.view(0, {rows});
  c.reduce_scatter(part, in).wait();
  for (std::int64_t i = 0; i < rows; ++i)
    ASSERT_EQ(part.data<float>()[i], sum_in_order(n, c.rank() * rows + i)) << i;
  c.broadcast(in, n - 1).wait();
  for (std::int64_t i = 0; i < in.count(); ++i) ASSERT_EQ(in.data<float>()[i], element(n - 1, i)) << i;
}

TEST(NodeTransport, MovesThroughSharedAndOwnMemory) {
  run_node_ranks(3, [](Communicator& c) {
    const Shape shape{3 * (kStage + 11)};
    const Tensor shared_in = c.shared_tensor(shape, kF32), shared_out = c.shared_tensor(shape, kF32);
    const Tensor own_in = Tensor::empty(shape, kF32), own_out = Tensor::empty(shape, kF32);
    check_moves(c, shared_in, shared_out);
    check_moves(c, shared_in, own_out);
    check_moves(c, own_in, shared_out);
    check_moves(c, own_in, own_out);
  });
}

TEST(NodeTransport, SplitsShareMemoryToo) {
  run_node_ranks(4, [](Communicator& c) {
    const auto part = c.split(c.rank() % 2, -c.rank());
    EXPECT_EQ(part->transport(), "shared memory, 2 ranks");
    EXPECT_EQ(part->rank(), c.rank() < 2 ? 1 : 0);
    const Tensor tensor = part->shared_tensor({kStage}, kF32);
    fill(tensor, part->rank());
    part->allreduce(tensor).wait();
    expect_sums(tensor, 2, "part");
  });
}

// What a rank has reduced is changed once, whoever reduces it and wherever it lies.
TEST(NodeTransport, BetweenSeesEachElementOnce) {
  for (const int slices : {1, 3}) {
    run_node_transports(3, [slices](std::unique_ptr<NodeTransport> transport) {
      const int rank = transport->place().rank;
      const auto shared = transport->share(4 * 5003);
      std::vector<float> own(5003);
      for (float* data : {static_cast<float*>(shared.get()), own.data()}) {
        for (std::int64_t i = 0; i < 5003; ++i) data[i] = element(rank, i);
        transport->allreduce_between(data, 5003, DType::f32, Reduction::sum, slices,
                                     [](void* slice, std::int64_t count) {
                                       auto* values = static_cast<float*>(slice);
                                       for (std::int64_t i = 0; i < count; ++i) values[i] = -values[i];
                                     });
        for (std::int64_t i = 0; i < 5003; ++i) ASSERT_EQ(data[i], -sum_in_order(3, i)) << i;
      }
    });
  }
}

TEST(NodeTransport, RankThatLeavesReleasesTheOthers) {
  run_node_ranks(3, [](Communicator& c) {
    c.barrier().wait();
    if (c.rank() == 1) return;
    // However often they call: what they add up to is no meeting.
    for (int k = 0; k < 4; ++k) {
      try {
        c.barrier().wait();
        ADD_FAILURE() << "no error";
      } catch (const CollectiveError& error) {
        EXPECT_EQ(error.rank(), 1);
        EXPECT_STREQ(error.what(), "[distributed] rank 1 has left; others still wait for it");
      }
    }
  });
}

// A rank that spins would use the whole second.
TEST(NodeTransport, WaitingCostsLittleProcessorTime) {
  const std::clock_t before = std::clock();  // of all threads
  run_node_ranks(2, [](Communicator& c) {
    if (c.rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    c.barrier().wait();
  });
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.5);
}

}  // namespace
}  // namespace ronde::test
