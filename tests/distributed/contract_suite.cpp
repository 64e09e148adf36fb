#include "distributed/contract_suite.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/distributed/objects.h>
#include <ronde/distributed/process_set.h>
#include <ronde/distributed/values.h>

#include "backend/cpu/cpu_backend.h"

namespace ronde::test {

namespace {

// The CollectiveError that `wait` throws; it must say that it happened on `rank`.
template <class W>
std::string error_of(const W& work, int rank) {
  try {
    work.wait();
  } catch (const CollectiveError& error) {
    EXPECT_EQ(error.rank(), rank) << error.what();
    return error.what();
  }
  return "no error";
}

// "rank 0", "ranks 0, 1", "ranks 0-5": the ranks before `end`.
std::string first_ranks(int end) {
  if (end == 1) return "rank 0 calls ";
  return end == 2 ? "ranks 0, 1 call " : cat("ranks 0-", end - 1, " call ");
}

// The calls that return something else than a Work: nobody goes on alone with one of them.
void check_other_calls(Communicator& c) {
  const int odd = c.size() - 1;
  const bool is_odd = c.rank() == odd;
  const auto expect = [&](const auto& call, const std::string& theirs, const std::string& own) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_TRUE(
          std::string(error.what())
              .ends_with(cat("ranks disagree: ", first_ranks(odd), theirs, ", rank ", odd, " calls ", own)))
          << error.what();
    }
    expect_usable(c);
  };
  expect([&] { is_odd ? c.barrier().wait() : void(c.split(0, 0)); }, "split()", "barrier()");
  expect([&] { c.shared_tensor({is_odd ? 5 : 4}); }, "shared_tensor(f32 (4,))", "shared_tensor(f32 (5,))");
  expect([&] { is_odd ? c.barrier().wait() : c.sequence("some", [](Communicator&) {}).wait(); },
         "sequence(some)", "barrier()");
}

// The last rank calls something else than the others: the same error everywhere, and then life goes on.
void check_mismatch(Communicator& c) {
  if (c.size() == 1) return;
  const int odd = c.size() - 1;
  const bool is_odd = c.rank() == odd;
  const std::string most = first_ranks(odd);
  const std::string last = cat(", rank ", odd, " calls ");
  const auto expect = [&](const Work& work, const std::string& prefix, const std::string& theirs,
                          const std::string& own) {
    EXPECT_EQ(error_of(work, odd), cat(prefix, "ranks disagree: ", most, theirs, last, own));
    expect_usable(c);
  };
  expect(c.allreduce(host_zeros({is_odd ? 65 : 64}), {.name = "loss"}),
         "[allreduce] 'loss': ", "allreduce(sum, f32 (64,))", "allreduce(sum, f32 (65,))");
  expect(c.allreduce(host_zeros({is_odd ? 4 : 2, is_odd ? 1 : 2})), "[allreduce] ",
         "allreduce(sum, f32 (2, 2))", "allreduce(sum, f32 (4, 1))");
  expect(c.allreduce(host_zeros({4}, is_odd ? DType::i32 : DType::f32)), "[allreduce] ",
         "allreduce(sum, f32 (4,))", "allreduce(sum, i32 (4,))");
  expect(c.allreduce(host_zeros({4}), is_odd ? Reduction::min : Reduction::average), "[allreduce] ",
         "allreduce(average, f32 (4,))", "allreduce(min, f32 (4,))");
  expect(c.allreduce(host_zeros({4}), {.prescale = is_odd ? 0.5 : 1.0}), "[allreduce] ",
         "allreduce(sum, f32 (4,))", "allreduce(sum, prescale 0.5, f32 (4,))");
  expect(c.allreduce(host_zeros({4}), {.postscale = is_odd ? 2.0 : 0.5}), "[allreduce] ",
         "allreduce(sum, postscale 0.5, f32 (4,))", "allreduce(sum, postscale 2, f32 (4,))");
  expect(c.allreduce(host_zeros({4}), {.postscale = is_odd ? 1.0 / 3.0 : 0.333333333333}), "[allreduce] ",
         "allreduce(sum, postscale 0.333333333333, f32 (4,))",
         "allreduce(sum, postscale 0.3333333333333333, f32 (4,))");
  expect(c.allreduce(host_zeros({4}), {.name = is_odd ? "weights" : "loss"}), "[allreduce] ",
         "allreduce 'loss' (sum, f32 (4,))", "allreduce 'weights' (sum, f32 (4,))");
  expect(c.barrier(is_odd ? "line\n'1'" : "line"), "[barrier] ", "barrier 'line' ()",
         "barrier 'line\n'1'' ()");
  expect(c.broadcast(host_zeros({4}), is_odd ? 1 : 0), "[broadcast] ", "broadcast(f32 (4,), root 0)",
         "broadcast(f32 (4,), root 1)");
  std::vector<Tensor> group{host_zeros({2}), host_zeros({2}), host_zeros({2})};
  if (is_odd) group.pop_back();
  expect(c.grouped_allreduce(group), "[grouped_allreduce] ",
         "grouped_allreduce(sum, f32 (2,), f32 (2,), f32 (2,))",
         "grouped_allreduce(sum, f32 (2,), f32 (2,))");
  expect(is_odd ? c.barrier() : c.allreduce(host_zeros({2, 3}, DType::i32), Reduction::max), "[distributed] ",
         "allreduce(max, i32 (2, 3))", "barrier()");
  const Tensor bytes = host_zeros({c.size()}, DType::u8);
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(c.size()), 1);
  EXPECT_EQ(error_of(c.alltoall(is_odd ? bytes : host_zeros({c.size()}), ones), odd),
            cat("[alltoall] ranks disagree: ", most, "alltoall(f32 (*))", last, "alltoall(u8 (*))"));
  const Tensor rows = host_zeros({c.size()});
  EXPECT_EQ(
      is_odd ? error_of(c.reduce_scatter(rows), odd) : error_of(c.reduce_scatter(host_zeros({1}), rows), odd),
      cat("[reduce_scatter] ranks disagree: ", most, "reduce_scatter(sum, ", rows, ")", last,
          "reduce_scatter(sum, ", rows, " into a new tensor)"));
  EXPECT_EQ(
      error_of(c.allgather(host_zeros({c.rank(), is_odd ? 3 : 2})), odd),
      cat("[allgather] ranks disagree: ", most, "allgather(f32 (*, 2))", last, "allgather(f32 (*, 3))"));
  expect_usable(c);
  check_other_calls(c);
}

// All odd ranks are named, whichever these are; and calls in another order.
void check_odd_ranks(Communicator& c) {
  if (c.size() != 7) return;
  const bool is_odd = c.rank() == 0 || c.rank() == 2 || c.rank() == 5;
  EXPECT_EQ(error_of(c.broadcast(host_zeros({is_odd ? 1 : 2}), 0, "bias"), 0),
            "[broadcast] 'bias': ranks disagree: ranks 0, 2, 5 call broadcast(f32 (1,), root 0), "
            "ranks 1, 3, 4, 6 call broadcast(f32 (2,), root 0)");
  const Tensor a = host_zeros({1});
  const Tensor b = host_zeros({2});
  const Work first = c.allreduce(is_odd ? b : a);
  const Work second = c.allreduce(is_odd ? a : b);
  EXPECT_EQ(error_of(second, 0),
            "[allreduce] ranks disagree: ranks 0, 2, 5 call allreduce(sum, f32 (1,)), "
            "ranks 1, 3, 4, 6 call allreduce(sum, f32 (2,))");
  EXPECT_EQ(error_of(first, 0),
            "[allreduce] ranks disagree: ranks 0, 2, 5 call allreduce(sum, f32 (2,)), "
            "ranks 1, 3, 4, 6 call allreduce(sum, f32 (1,))");
  expect_usable(c);
}

// Arguments that are wrong everywhere.
void check_arguments(Communicator& c) {
  const Tensor ints = host_zeros({4, 6}, DType::i32);
  const auto expect = [&](const auto& work, const std::string& message) {
    EXPECT_EQ(error_of(work, 0), message);
    expect_usable(c);
  };
  expect(c.allreduce(ints, Reduction::average), "[allreduce] average expects a floating dtype, got i32");
  expect(c.allreduce(ints, {.prescale = 0.5, .name = "n"}),
         "[allreduce] 'n' scales expect a floating dtype, got i32");
  expect(c.allreduce(ints.permute({1, 0})),
         "[allreduce] expects contiguous tensors, got a view of i32 (6, 4); contiguous() makes a copy");
  expect(c.allreduce(Tensor()), "[allreduce] got an undefined tensor");
  expect(c.grouped_allreduce({}), "[grouped_allreduce] expects at least one tensor");
  const Tensor floats = host_zeros({4, 2}), empty = host_zeros({0});
  expect(c.grouped_allreduce({floats, ints, empty, floats}),
         "[grouped_allreduce] tensors 0 and 3 overlap: f32 (4, 2) and f32 (4, 2)");
  expect(c.grouped_allreduce({ints, floats.slice(0, 1, 3), floats.slice(0, 0, 2)}),
         "[grouped_allreduce] tensors 1 and 2 overlap: f32 (2, 2) and f32 (2, 2)");
  expect(c.broadcast(ints, c.size()),
         cat("[broadcast] root ", c.size(), " is not one of ", counted(c.size(), "rank")));
  expect(c.broadcast(ints, -1), cat("[broadcast] root -1 is not one of ", counted(c.size(), "rank")));
  expect(c.allgather(ints, host_zeros({5, 6}, DType::i32)),
         cat("[allgather] expects ", 5 * c.size(), " rows like those of i32 (5, 6), got i32 (4, 6)"));
  expect(c.allgather(host_zeros({})), "[allgather] expects at least one axis, got f32 ()");
  expect(c.allgatherv(ints, ints.clone(), {}),
         cat("[allgatherv] expects ", counted(c.size(), "count"), ", got 0"));
  expect(c.reduce_scatter(host_zeros({4, 5}, DType::i32), ints),
         cat("[reduce_scatter] expects ", 4 * c.size(), " rows like those of i32 (4, 5), got i32 (4, 6)"));
  expect(c.alltoall(host_zeros({4, 6}), ints), "[alltoall] expects equal dtypes, got in i32 and out f32");
  const Tensor rows = host_zeros({c.size()});
  expect(c.alltoall(rows, rows), cat("[alltoall] in and out overlap: in ", rows, ", out ", rows));
  std::vector<std::int64_t> splits(static_cast<std::size_t>(c.size()), 0);
  splits[0] = 3;
  const std::string message = error_of(c.alltoall(ints, splits), 0);
  EXPECT_EQ(message.find("[alltoall] splits 3"), 0U) << message;
  EXPECT_NE(message.find(" are 3 rows, got i32 (4, 6)"), std::string::npos) << message;
  splits.push_back(1);
  expect(c.alltoall(ints, splits), cat("[alltoall] expects ", c.size(), " splits, got ", c.size() + 1));
}

// What is wrong on one rank alone reaches the others, who called well.
void check_objection_of_one(Communicator& c) {
  if (c.size() == 1) return;
  const int odd = c.size() - 1;
  const bool is_odd = c.rank() == odd;
  const auto expect = [&](const Work& work, const std::string& message, const std::string& theirs) {
    EXPECT_EQ(error_of(work, odd), cat(message, " (rank ", odd, "; ", first_ranks(odd), theirs, ')'));
    expect_usable(c);
  };
  expect(c.allreduce(is_odd ? Tensor() : host_zeros({64}), {.name = "loss"}),
         "[allreduce] 'loss' got an undefined tensor", "allreduce 'loss' (sum, f32 (64,))");
  expect(c.broadcast(host_zeros({3}), is_odd ? -2 : 0),
         cat("[broadcast] root -2 is not one of ", counted(c.size(), "rank")), "broadcast(f32 (3,), root 0)");
  const Tensor square = host_zeros({2, 3});
  expect(c.allreduce(is_odd ? square.permute({1, 0}) : square.reshape({3, 2})),
         "[allreduce] expects contiguous tensors, got a view of f32 (3, 2); contiguous() makes a copy",
         "allreduce(sum, f32 (3, 2))");
}

// A rank's memory, which is full when the test says so.
class FullBackend final : public CpuBackend {
 public:
  void* allocate(std::size_t bytes) override {
    require(!is_full, "no memory for ", bytes, " bytes");
    return CpuBackend::allocate(bytes);
  }
  std::atomic<bool> is_full = false;
};

// One rank lacks the memory that an operation takes besides its tensors: an error of all, and nobody is left
// waiting in the middle of it.
void check_memory(Communicator& c) {
  FullBackend backend;
  const int odd = c.size() - 1;
  const TensorOptions options{.dtype = DType::f32, .backend = &backend};
  const Tensor rows = Tensor::zeros({4 * c.size(), 2}, options), part = Tensor::zeros({4, 2}, options);
  backend.is_full = c.rank() == odd;
  const auto expect = [&](const auto& work) {
    const std::string error = error_of(work, odd);
    EXPECT_NE(error.find("no memory for "), std::string::npos) << error;
    expect_usable(c);
  };
  expect(c.allgather(part));
  expect(c.reduce_scatter(rows));
  expect(c.alltoall(rows, std::vector<std::int64_t>(static_cast<std::size_t>(c.size()), 4)));
  expect(c.reduce_scatter(part, rows, {.op = Reduction::sum, .prescale = 0.5}));
  if (c.size() == 1) return;
  // Where ranks share memory, that rank's own is not asked for; and there is not as much for any.
  const auto is_refused = [&](const Shape& shape) {
    try {
      c.shared_tensor(shape, options);
      return 0;
    } catch (const CollectiveError& error) {
      return 1 + error.rank();
    }
  };
  for (const auto& [elements, rank] : {std::pair{std::int64_t{1000}, odd}, {std::int64_t{1} << 50, 0}}) {
    const std::vector<int> refused = allgather_object(c, is_refused({elements})).wait();
    EXPECT_EQ(std::count(refused.begin(), refused.end(), refused[0]), c.size()) << elements;
    EXPECT_TRUE(refused[0] == 0 || refused[0] == 1 + rank) << elements;
    EXPECT_TRUE(refused[0] > 0 || elements == 1000);
  }
}

// The same name twice at once is an error also where the first operation happens to be over already.
void check_names(Communicator& c) {
  const Tensor a = host_zeros({1000});
  const Tensor b = host_zeros({1000});
  const Work first = c.allreduce(a, {.name = "gradient"});
  EXPECT_EQ(error_of(c.allreduce(b, {.name = "gradient"}), 0),
            "[allreduce] 'gradient' is in flight already: wait for it before using its name again");
  first.wait();
  c.allreduce(b, {.name = "gradient"}).wait();
  c.broadcast(b, 0, "gradient").wait();
  // What nobody keeps is over when it is done, with an error too.
  c.allreduce(host_zeros({1 + c.rank()}), {.name = "dropped"});
  c.barrier().wait();
  c.allreduce(b, {.name = "dropped"}).wait();
}

// Odd and even ranks apart, in reverse order; the last rank stays out.
void check_split(Communicator& c) {
  const bool is_out = c.size() > 1 && c.rank() == c.size() - 1;
  const auto part = c.split(is_out ? -1 : c.rank() % 2, -c.rank());
  ASSERT_EQ(part == nullptr, is_out);
  if (part) {
    std::vector<double> members;
    const int last = c.size() > 1 ? c.size() - 2 : 0;
    for (int r = last; r >= 0; --r) {
      if (r % 2 == c.rank() % 2) members.push_back(r);
    }
    ASSERT_EQ(part->size(), static_cast<int>(members.size()));
    EXPECT_EQ(members[static_cast<std::size_t>(part->rank())], c.rank());
    EXPECT_EQ(allgather(*part, std::vector<double>{static_cast<double>(c.rank())}).wait(), members);
  }
  c.barrier().wait();
}

// Groups by lists of ranks.
void check_process_set(Communicator& c) {
  const int size = c.size();
  const ProcessSet ends(c, size > 1 ? std::vector<int>{size - 1, 0} : std::vector<int>{0});
  const bool is_end = c.rank() == 0 || c.rank() == size - 1;
  ASSERT_EQ(ends.included(), is_end);
  const Work world_sum = c.allreduce(host_zeros({100}));  // under way at the same time
  if (is_end) {
    EXPECT_EQ(ends->size(), ends.size());
    const auto members = allgather_object(*ends, c.rank()).wait();
    EXPECT_EQ(members, ends.ranks());
  } else {
    try {
      ends->barrier().wait();
      ADD_FAILURE() << "no error";
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), cat("[process_set] rank ", c.rank(), " is not in the process set of ranks ",
                                  size - 1, ", 0"));
    }
  }
  world_sum.wait();
  for (const std::vector<int>& wrong : {std::vector<int>{}, {0, size}, {-1}, {0, 0}})
    EXPECT_THROW(ProcessSet(c, wrong), CollectiveError);
  if (size > 1) {
    const bool is_last = c.rank() == size - 1;
    EXPECT_THROW(ProcessSet(c, is_last ? std::vector<int>{0} : std::vector<int>{0, 1}), CollectiveError);
  }
  expect_usable(c);
}

// What is said of a set within a set has the numbers of the world.
void check_nested_sets(Communicator& c) {
  if (c.size() < 3) return;
  const int last = c.size() - 1;
  const ProcessSet outer(c, {0, last, 1});
  if (!outer.included()) return;
  const ProcessSet inner(*outer, {2, 1});
  if (inner.included()) {
    const Work work = inner->allgatherv(host_zeros({6}), host_zeros({inner->rank() == 1 ? 2 : 3}), {3, 3});
    EXPECT_EQ(error_of(work, 1),
              cat("[allgatherv] expects 3 rows of this rank, as its counts say, got f32 (2,) (rank ", last,
                  "; rank 1 calls allgatherv(f32 (6,), counts 3, 3))"));
    return expect_usable(*inner);
  }
  try {
    inner->barrier().wait();
    ADD_FAILURE() << "no error";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), cat("[process_set] rank 0 is not in the process set of ranks 1, ", last));
  }
}

void check_object_types(Communicator& c) {
  if (c.size() == 1) return;
  const int odd = c.size() - 1;
  const std::string error = c.rank() == odd
                                ? error_of(broadcast_object(c, std::vector<std::string>{}, 0, "config"), odd)
                                : error_of(broadcast_object(c, std::vector<int>{1}, 0, "config"), odd);
  EXPECT_NE(error.find("[broadcast_object] 'config': ranks disagree: "), std::string::npos) << error;
  EXPECT_NE(error.find("broadcast_object(std::vector<int, "), std::string::npos) << error;
  EXPECT_NE(error.find("broadcast_object(std::vector<std::string, "), std::string::npos) << error;
  expect_usable(c);
}

// `collectively`: the lowest failing rank's error, on all ranks.
void check_agree(Communicator& c) {
  collectively(c, [] {});
  for (const int first : {0, c.size() - 1}) {
    try {
      collectively(c, [&] {
        if (c.rank() >= first) throw InputError(cat("file of rank ", c.rank()));
      });
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.rank(), first);
      EXPECT_EQ(error.what(), cat("file of rank ", first));
      EXPECT_EQ(error.status(), ExitStatus::bad_input);
    }
  }
  try {
    collectively(c, [] { throw std::bad_alloc(); });
    ADD_FAILURE() << "no error";
  } catch (const CollectiveError& error) {
    EXPECT_EQ(std::string(error.what()).find("not enough memory"), 0u) << error.what();
    EXPECT_EQ(error.status(), ExitStatus::failure);
  }
}

}  // namespace

Tensor host_zeros(const Shape& shape, DType dtype) {
  return Tensor::zeros(shape, {.dtype = dtype, .backend = &backend("cpu")});
}

void expect_usable(Communicator& c) {
  std::vector<double> one{1.0};
  allreduce_values(c, one);
  EXPECT_EQ(one[0], c.size());
}

void check_groups_at_once(Communicator& c) {
  const auto part = c.split(c.rank() / 2, c.rank());
  const auto reverse = c.split(0, -c.rank());
  const std::array<Communicator*, 3> groups{&c, part.get(), reverse.get()};
  std::mt19937 random(static_cast<unsigned>(c.rank()));
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < 24; ++k) order.push_back(k % groups.size());
  std::shuffle(order.begin(), order.end(), random);
  struct Started {
    Tensor tensor;
    double sum;
    Work work;
  };
  std::array<int, 3> counts{};
  std::vector<Started> operations;
  for (const std::size_t g : order) {
    const int k = ++counts[g];
    const Tensor tensor = Tensor::full({k * 300}, k, {.dtype = DType::f64, .backend = &backend("cpu")});
    operations.push_back({tensor, double(k) * groups[g]->size(), groups[g]->allreduce(tensor)});
  }
  std::shuffle(operations.begin(), operations.end(), random);
  for (const Started& operation : operations) {
    operation.work.wait();
    EXPECT_EQ(operation.tensor.to_vector<double>().back(), operation.sum);
  }
}

void check_contract(Communicator& c) {
  check_mismatch(c);
  check_odd_ranks(c);
  check_random_calls(c);
  check_arguments(c);
  check_objection_of_one(c);
  check_memory(c);
  check_names(c);
  check_split(c);
  check_process_set(c);
  check_nested_sets(c);
  check_objects(c);
  check_object_types(c);
  check_values(c);
  check_agree(c);
}

}  // namespace ronde::test
