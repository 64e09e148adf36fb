// What stands for a GPU's threads: that it finds the mistakes that a kernel can make; and how kernels divide.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing.h"
#include "cuda/emulated/run_kernel.h"
#include "cuda/gpu/divisor.cuh"
#include "cuda/gpu/small_copy.h"

namespace ronde::test {
namespace {

template <class... Params>
cudaError_t start(void (*kernel)(Params...), dim3 blocks, dim3 threads,
                  std::type_identity_t<Params>... args) {
  void* addresses[] = {&args...};
  return cudaLaunchKernel(kernel, blocks, threads, addresses, 0, nullptr);
}

__global__ void count_threads(int* counts) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  ++counts[block * blockDim.x * blockDim.y * blockDim.z + thread];
}

TEST(EmulatedGrid, RunsEachThreadOnce) {
  std::vector<int> counts(2 * 3 * 4 * 5 * 6 * 7);
  EXPECT_EQ(start(count_threads, {2, 3, 4}, {5, 6, 7}, counts.data()), cudaSuccess);
  EXPECT_EQ(counts, std::vector<int>(counts.size(), 1));
}

__global__ void note_turn(unsigned* threads, unsigned* turns) {
  threads[turns[blockIdx.x]++ + blockIdx.x * blockDim.x] = threadIdx.x;
}

TEST(EmulatedGrid, ThreadsOfEachBlockRunInAnOrderOfItsOwn) {
  constexpr unsigned kBlocks = 4, kThreads = 64;
  std::vector<unsigned> threads(kBlocks * kThreads), turns(kBlocks), sorted(kThreads);
  start(note_turn, kBlocks, kThreads, threads.data(), turns.data());
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::set<std::vector<unsigned>> orders;
  for (auto block = threads.begin(); block != threads.end(); block += kThreads) {
    EXPECT_TRUE(std::is_permutation(block, block + kThreads, sorted.begin()));
    const auto in_turn = std::inner_product(block, block + kThreads - 1, block + 1, 0u, std::plus<>(),
                                            [](unsigned a, unsigned b) { return a + 1 == b ? 1u : 0u; });
    EXPECT_LT(in_turn, kThreads / 2);
    orders.insert({block, block + kThreads});
  }
  EXPECT_GE(orders.size(), kBlocks - 1);  // two may begin at the same place by chance
}

__global__ void write_index(int* to, bool waits) {
  if (waits) cudaGridDependencySynchronize();
  to[threadIdx.x] = static_cast<int>(threadIdx.x);
}

TEST(EmulatedGrid, AKernelHasToWaitForThoseBeforeIt) {
  std::vector<int> written(32);
  const cudaLaunchConfig_t config{1, 32, 0, nullptr, nullptr, 0};
  EXPECT_EQ(cudaLaunchKernelEx(&config, write_index, written.data(), true), cudaSuccess);
  EXPECT_EQ(written[31], 31);
  EXPECT_THROW(cudaLaunchKernelEx(&config, write_index, written.data(), false), std::logic_error);
}

TEST(EmulatedGrid, RefusesWhatNoGpuTakes) {
  int counts[1] = {};
  for (const dim3 threads : {dim3(0), dim3(1025), dim3(1, 1, 65)})
    EXPECT_EQ(start(count_threads, 1, threads, counts), cudaErrorInvalidConfiguration);
  for (const dim3 blocks : {dim3(0), dim3(1, 65536)})
    EXPECT_EQ(start(count_threads, blocks, 1, counts), cudaErrorInvalidConfiguration);
  EXPECT_EQ(counts[0], 0);
}

constexpr unsigned kThreadsOfBlock = 128;

// The sum of 0 ... 127 for each block, in every thread; `waits` is what a correct kernel does.
__global__ void sum_indices(int* sums, bool waits) {
  __shared__ int values[kThreadsOfBlock];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (waits) __syncthreads();
  int total = 0;
  for (const int value : values) total += value;
  sums[blockIdx.x * blockDim.x + threadIdx.x] = total;
  if (waits) __syncthreads();
  values[threadIdx.x] = -1;
}

TEST(EmulatedGrid, AMissingBarrierShows) {
  constexpr int kSum = 127 * 128 / 2;
  std::vector<int> sums(3 * kThreadsOfBlock);
  start(sum_indices, 3, kThreadsOfBlock, sums.data(), true);
  EXPECT_EQ(sums, std::vector<int>(sums.size(), kSum));
  start(sum_indices, 3, kThreadsOfBlock, sums.data(), false);
  EXPECT_NE(sums, std::vector<int>(sums.size(), kSum));
}

__global__ void half_waits(bool ends) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else if (!ends) {
    __shfl_xor_sync(0xFFFFFFFFu, 1.0, 1);
  }
}

TEST(EmulatedGrid, TellsOfThreadsThatWaitForEver) {
  for (const bool ends : {true, false}) EXPECT_THROW(start(half_waits, 1, 64, ends), Deadlock);
  int count[1] = {};
  EXPECT_EQ(start(count_threads, 1, 1, count), cudaSuccess);  // and goes on
  EXPECT_EQ(count[0], 1);
}

__global__ void exchange(double* out) {
  double value = threadIdx.x;
  for (unsigned lanes = 1; lanes < kWarp; lanes *= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, lanes);
  out[threadIdx.x] = value;
}

TEST(EmulatedGrid, LanesExchangeWithinTheirWarp) {
  std::vector<double> sums(96);
  start(exchange, 1, 96, sums.data());
  for (unsigned i = 0; i < 96; ++i) EXPECT_EQ(sums[i], 31 * 32 / 2 + (i / 32) * 32 * 32);
}

__global__ void vote(unsigned* votes) {
  const unsigned i = threadIdx.x;
  votes[i] = __ballot_sync(0xffffffffu, i % 3 == 0);
}

TEST(EmulatedGrid, LanesVoteWithinTheirWarp) {
  std::vector<unsigned> votes(64);
  start(vote, 1, 64, votes.data());
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(votes[i], i < 32 ? 0x49249249u : 0x92492492u);
}

// A call whose kernel is given as it is: one output of four floats, one input of four.
void run_alone(std::vector<float>& out, std::vector<float>& in, const EnqueueKernels& enqueue) {
  cuda::Call call{.op = cuda::Op::copy, .outputs = 1, .operands = 2};
  for (std::size_t i = 0; i < 2; ++i)
    call.tensors[i] = {
        .data = i == 0 ? out.data() : in.data(), .defined = true, .rank = 1, .shape = {4}, .strides = {1}};
  run_on_kernels(
      call, [](const void* memory) { return const_cast<void*>(memory); }, enqueue);
}

__global__ void add_one(float* out, const float* in, int first, int count) {
  const int i = first + static_cast<int>(threadIdx.x);
  if (i < count) out[i] = in[i] + 1;
}

TEST(EmulatedKernels, SeeTheirOperandsOnly) {
  std::vector<float> out(4), in{1, 2, 3, 4};
  const auto run = [&](int first, int count) {
    run_alone(out, in, [=](const cuda::Call& call, const cuda::Place&) {
      start(add_one, 1, 8, static_cast<float*>(call[0].data), static_cast<float*>(call[1].data), first,
            count);
    });
  };
  run(0, 4);
  EXPECT_EQ(out, (std::vector<float>{2, 3, 4, 5}));
  EXPECT_THROW(run(0, 5), KernelFault);
  EXPECT_THROW(run(-1, 4), KernelFault);
}

TEST(EmulatedKernels, ReadNothingElse) {
  std::vector<float> out(4), in{1, 2, 3, 4};
  run_alone(out, in, [](const cuda::Call& call, const cuda::Place&) {
    start(add_one, 1, 8, static_cast<float*>(call[0].data), static_cast<float*>(call[1].data) + 1, 0, 4);
  });
  EXPECT_EQ(out[2], 5.0f);
  EXPECT_TRUE(std::isnan(out[3]));
}

TEST(EmulatedKernels, DoNotWriteTheirInputs) {
  std::vector<float> out(4), in{1, 2, 3, 4};
  const EnqueueKernels writes = [](const cuda::Call& call, const cuda::Place&) {
    start(add_one, 1, 4, static_cast<float*>(call[1].data), static_cast<float*>(call[1].data), 0, 4);
  };
  EXPECT_THROW(run_alone(out, in, writes), KernelFault);
  EXPECT_EQ(in, (std::vector<float>{1, 2, 3, 4}));
}

// Of any size and from any address, and nothing beside it.
TEST(SmallCopy, BringsEachByte) {
  std::vector<unsigned char> from(5000), to(from.size());
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  for (const std::size_t bytes : {0, 1, 7, 8, 136, 2560, 2561, 4096})
    for (const std::size_t offset : {0, 3, 8}) {
      std::fill(to.begin(), to.end(), static_cast<unsigned char>(0));
      cuda::copy_by_kernel(to.data() + offset, from.data() + 16, bytes, nullptr);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool is_inside = i >= offset && i < offset + bytes;
        ASSERT_EQ(to[i], is_inside ? from[i - offset + 16] : 0)
            << bytes << " bytes to " << offset << ": " << i;
      }
    }
}

TEST(Divisor, DividesAllThatAnIntCounts) {
  constexpr int kMost = std::numeric_limits<int>::max();
  for (const int by : {1, 2, 3, 5, 7, 26, 28, 641, 65535, 65536, 65537, 1 << 30, (1 << 30) + 1, kMost}) {
    const cuda::Divisor divisor(by);
    const int last = kMost / by * by;
    for (const int multiple : {0, by, last / by / 2 * by, last})
      for (const std::int64_t number :
           {std::int64_t{multiple} - 1, std::int64_t{multiple}, std::int64_t{multiple} + 1}) {
        if (number < 0 || number > kMost) continue;
        EXPECT_EQ(divisor.quotient(static_cast<int>(number)), number / by) << number << " / " << by;
      }
    EXPECT_EQ(divisor.quotient(kMost), kMost / by) << by;
  }
}

}  // namespace
}  // namespace ronde::test
