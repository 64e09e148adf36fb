#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <ronde/distributed/objects.h>

#include "distributed/contract_suite.h"

namespace ronde::test {

namespace {

constexpr int kCalls = 17;

// One of many calls. Numbers 4 and 5, and 7 and 8, are the same call: where its output lies is a rank's own
// business.
Work start_some_call(Communicator& c, int number) {
  const int n = c.size();
  const Tensor row = host_zeros({8}), rows = host_zeros({8 * n});
  const Tensor own = rows.slice(0, 8 * c.rank(), 8 * c.rank() + 8);
  switch (number) {
    case 0:
      return c.allreduce(row);
    case 1:
      return c.allreduce(host_zeros({9}));
    case 2:
      return c.allreduce(host_zeros({60000}));
    case 3:
      return c.allreduce(row, Reduction::max);
    case 4:
      return c.allgather(rows, row);
    case 5:
      return c.allgather(rows, own);
    case 6:
      return c.allgatherv(rows, row, std::vector<std::int64_t>(static_cast<std::size_t>(n), 8));
    case 7:
      return c.reduce_scatter(row, rows);
    case 8:
      return c.reduce_scatter(own, rows);
    case 9:
      return c.alltoall(host_zeros({8 * n}), rows);
    case 10:
      return c.broadcast(row, n - 1);
    case 11:
      return c.broadcast(host_zeros({8}, DType::i64), n - 1);
    case 12:
      return c.grouped_allreduce({row, host_zeros({3}, DType::bf16)});
    case 13:
      return c.allreduce(Tensor());
    case 14:
      return c.broadcast(row, n + 1);
    case 15:
      return c.sequence("two", [row](Communicator& parts) { parts.allreduce(row).wait(); });
    default:
      return c.barrier();
  }
}

// What `wait` throws, or nothing.
std::vector<std::string> errors_of(const std::vector<Work>& works) {
  std::vector<std::string> errors;
  for (const Work& work : works) {
    try {
      work.wait();
      errors.emplace_back();
    } catch (const CollectiveError& error) {
      errors.emplace_back(error.what());
    }
  }
  return errors;
}

// Whether calls of these numbers, one of each rank, are no error.
bool go_together(std::vector<int> numbers) {
  for (int& number : numbers) number -= number == 5 || number == 8;
  const int first = numbers.front();
  const bool is_same =
      std::all_of(numbers.begin(), numbers.end(), [&](int number) { return number == first; });
  return is_same && first != 13 && first != 14;
}

}  // namespace

void check_random_calls(Communicator& c) {
  if (c.size() == 1) return;
  std::mt19937 common(7), own(static_cast<unsigned>(c.rank()));
  const auto below = [](std::mt19937& random, int end) { return static_cast<int>(random() >> 8) % end; };
  for (int round = 0; round < (c.size() <= 5 ? 40 : 8); ++round) {
    std::vector<int> numbers;
    std::vector<Work> works;
    for (int k = below(common, 5); k < 5; ++k) {
      const bool may_differ = below(common, 2) == 0;
      const int usual = below(common, kCalls);
      numbers.push_back(may_differ && below(own, 2) == 0 ? below(own, kCalls) : usual);
      works.push_back(start_some_call(c, numbers.back()));
    }
    const auto errors = allgather_object(c, errors_of(works)).wait();
    const auto all_numbers = allgather_object(c, numbers).wait();
    for (std::size_t k = 0; k < works.size(); ++k) {
      std::vector<int> of_ranks;
      for (const std::vector<int>& of_rank : all_numbers) of_ranks.push_back(of_rank[k]);
      for (const auto& of_rank : errors)
        EXPECT_EQ(of_rank[k], errors[0][k]) << "round " << round << ", call " << k;
      EXPECT_EQ(errors[0][k].empty(), go_together(of_ranks)) << "round " << round << ": " << errors[0][k];
    }
  }
}

}  // namespace ronde::test
