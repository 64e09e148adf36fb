#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "distributed/collective_values.h"
#include "distributed/collectives_suite.h"

namespace ronde::test {

namespace {

// Operation k of a random sequence that is the same on all ranks: how it is started, and what must come out.
struct RandomOperation {
  Work work;
  Tensor result;
  Reference expected;
};

RandomOperation start_random(Communicator& c, std::mt19937& random, int k) {
  const int size = c.size();
  const std::int64_t n = random() % 3 == 0 ? random() % 4000 / static_cast<unsigned>(size) : random() % 20;
  const auto sum = [size](std::int64_t i) { return reduced(size, i, DType::f64, Reduction::max); };
  switch (random() % 5) {
    case 0: {
      const int root = static_cast<int>(random() % static_cast<unsigned>(size));
      const Tensor data = make_input(c.rank(), {n}, DType::f32);
      return {c.broadcast(data, root), data, [root](std::int64_t i) { return value(root, i, DType::f32); }};
    }
    case 1: {
      const Tensor out = Tensor::zeros({n * size}, host(DType::u8));
      return {c.allgather(out, make_input(c.rank(), {n}, DType::u8)), out,
              [n](std::int64_t i) { return value(static_cast<int>(i / n), i % n, DType::u8); }};
    }
    case 2: {
      const Tensor out = Tensor::zeros({n}, host(DType::f64));
      const std::int64_t first = n * c.rank();
      return {c.reduce_scatter(out, make_input(c.rank(), {n * size}, DType::f64), Reduction::max), out,
              [sum, first](std::int64_t i) { return sum(first + i); }};
    }
    case 3: {
      const Tensor out = Tensor::zeros({n * size}, host(DType::i32));
      const std::int64_t first = n * c.rank();
      return {c.alltoall(out, make_input(c.rank(), {n * size}, DType::i32)), out, [n, first](std::int64_t i) {
                return value(static_cast<int>(i / n), first + i % n, DType::i32);
              }};
    }
    default: {
      const Tensor data = make_input(c.rank(), {n}, DType::f64);
      return {c.allreduce(data, {.op = Reduction::max, .name = cat("operation ", k)}), data, sum};
    }
  }
}

}  // namespace

void check_many_in_flight(Communicator& c) {
  for (const unsigned seed : {1U, 2U}) {
    std::mt19937 random(seed);
    std::vector<RandomOperation> operations;
    for (int k = 0; k < 60; ++k) operations.push_back(start_random(c, random, k));
    std::vector<std::size_t> order(operations.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(seed + static_cast<unsigned>(c.rank())));
    for (const std::size_t k : order) {
      operations[k].work.wait();
      EXPECT_TRUE(operations[k].work.done());
      EXPECT_TRUE(operations[k].work.wait_for(0.0));
      expect_values(operations[k].result, operations[k].expected, 0.0, cat("seed ", seed, " operation ", k));
    }
  }
}

}  // namespace ronde::test
