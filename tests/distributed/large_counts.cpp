// Run by mpirun: collectives of more than 2^31 bytes, which are u8, so also elements. The word says how they
// travel: shm, mpi or tcp. 77: this machine has not the memory.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/distributed/mpi_communicator.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/tcp_communicator.h>

#include "support/temp_dir.h"

namespace {

using namespace ronde;

constexpr int kRanks = 2;
constexpr std::int64_t kPart = (std::int64_t{1} << 30) + 2051, kCount = kRanks * kPart;
constexpr std::int64_t kNeeded = 14;  // GB: two such tensors of each rank, and what MPI takes besides

std::int64_t gigabytes_available() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return std::stoll(line.substr(13)) >> 20;
  return 0;
}

// Bytes that repeat after a prime number of them, so that none is taken for that at a distance of a power of
// two; `factor` and `offset` make them another rank's, or sums.
struct Pattern {
  static constexpr std::int64_t kPeriod = 65521, kBlock = 16 * kPeriod;
  std::vector<std::uint8_t> block;

  Pattern(int factor, int offset) : block(kBlock + kPeriod) {
    for (std::int64_t i = 0; i < std::ssize(block); ++i)
      block[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(factor * static_cast<int>((i % kPeriod) * 167 % 251) + offset);
  }
  // Calls f(place in the tensor, bytes that belong there, how many) for pieces of `count` bytes, of which the
  // first is number `first` of the pattern.
  template <class F>
  void each_piece(std::int64_t first, std::int64_t count, F&& f) const {
    for (std::int64_t i = 0; i < count; i += kBlock)
      f(i, block.data() + (first + i) % kPeriod, static_cast<std::size_t>(std::min(kBlock, count - i)));
  }
  void write(const Tensor& to, std::int64_t first = 0) const {
    each_piece(first, to.count(), [&](std::int64_t at, const std::uint8_t* bytes, std::size_t n) {
      std::memcpy(to.data<std::uint8_t>() + at, bytes, n);
    });
  }
  void expect(const Tensor& in, const std::string& what, std::int64_t first = 0) const {
    each_piece(first, in.count(), [&](std::int64_t at, const std::uint8_t* bytes, std::size_t n) {
      require(std::memcmp(in.data<std::uint8_t>() + at, bytes, n) == 0, what, ": wrong within ", n,
              " bytes from ", at, " on");
    });
  }
};

Pattern of_rank(int rank) {
  return {1, 3 * rank};
}

Tensor make(std::int64_t count) {
  return Tensor::empty({count}, {.dtype = DType::u8, .backend = &backend("cpu")});
}

void check_reductions(Communicator& c, const Tensor& all) {
  const Pattern own = of_rank(c.rank()), sums(kRanks, 3);
  own.write(all);
  c.allreduce(all).wait();
  sums.expect(all, "allreduce");
  own.write(all);
  const Tensor part = make(kPart);
  c.reduce_scatter(part, all).wait();
  sums.expect(part, "reduce_scatter", c.rank() * kPart);
}

void check_moves(Communicator& c, const Tensor& all) {
  const Pattern own = of_rank(c.rank());
  own.write(all);
  c.broadcast(all, 1).wait();
  of_rank(1).expect(all, "broadcast");
  own.write(all);
  c.allgather(all, all.view(c.rank() * kPart, {kPart})).wait();
  for (int r = 0; r < kRanks; ++r) of_rank(r).expect(all.view(r * kPart, {kPart}), "allgather", r * kPart);
  own.write(all);
  const Tensor out = make(kCount);
  c.alltoall(out, all).wait();
  for (int r = 0; r < kRanks; ++r)
    of_rank(r).expect(out.view(r * kPart, {kPart}), "alltoall", c.rank() * kPart);
}

// 64 MB of floats, and more than 2^31 bytes.
void check_floats(Communicator& c) {
  for (const std::int64_t count : {std::int64_t{16} << 20, (std::int64_t{1} << 29) + 1027}) {
    const Tensor data = Tensor::empty({count}, {.dtype = DType::f32, .backend = &backend("cpu")});
    float* values = data.data<float>();
    for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 8191 + c.rank());
    c.allreduce(data).wait();
    for (std::int64_t i = 0; i < count; ++i)
      require(values[i] == static_cast<float>(2 * (i % 8191) + 1), "sum of floats: wrong at ", i, " of ",
              count);
  }
}

void check(Communicator& c, const std::string& expected) {
  require(c.size() == kRanks, "[large_counts] run it with ", kRanks, " ranks, not ", c.size());
  require(c.transport() == expected, "[large_counts] travels by ", c.transport(), ", not by ", expected);
  {
    const Tensor all = make(kCount);
    check_reductions(c, all);
    check_moves(c, all);
  }
  check_floats(c);
}

void run(const std::string& way, Communicator& world) {
  if (way == "shm") {
    const auto shared = make_mpi_communicator(AllreducePath::node);
    check(*shared, "shared memory, 2 ranks");
    // Straight from each other's memory.
    const TensorOptions options{.dtype = DType::u8, .backend = &backend("cpu")};
    check_reductions(*shared, shared->shared_tensor({kCount}, options));
    check_moves(*shared, shared->shared_tensor({kCount}, options));
  } else if (way == "tcp") {
    const test::TempDir directory;
    const std::string file = broadcast_string(world, directory / "meeting");
    check(*make_tcp_communicator({.rank = world.rank(),
                                  .size = world.size(),
                                  .rendezvous = cat("file:", file),
                                  .path = AllreducePath::mpi}),
          "tcp, 2 ranks");
    world.barrier().wait();  // the file is rank 0's
  } else {
    check(*make_mpi_communicator(AllreducePath::mpi), "mpi, 2 ranks");
  }
  if (world.rank() == 0)
    std::printf("%lld elements by %s: right\n", static_cast<long long>(kCount), way.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "mpi";
  if (gigabytes_available() < kNeeded) {
    std::fprintf(stderr, "SKIPPED large_counts: needs %lld GB of free memory\n",
                 static_cast<long long>(kNeeded));
    return 77;
  }
  return run_main(argc, argv, [&](Communicator& world) { run(way, world); });
}
