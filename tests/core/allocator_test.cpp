#include "backend/cpu/caching_allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <ronde/core/thread_pool.h>

#include "core/testing.h"
#include "support/process_memory.h"
#include "worker_number.h"

namespace ronde {
namespace {

using test::memory_can_be_measured;
using test::resident_bytes;

TEST(CachingAllocator, AlignsEveryBlock) {
  CachingAllocator allocator;
  for (const std::size_t bytes :
       {0u, 1u, 63u, 64u, 65u, 1000u, 4097u, (2u << 20) - 1, (2u << 20) + 1, 5u << 20}) {
    void* memory = allocator.allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % CachingAllocator::kAlignment, 0u) << bytes;
    std::memset(memory, 1, bytes);  // a sanitizer sees a block that is too small
    allocator.deallocate(memory);
  }
}

TEST(CachingAllocator, GivesABlockBackToTheSameSize) {
  CachingAllocator allocator;
  void* first = allocator.allocate(10000);
  void* second = allocator.allocate(10000);
  EXPECT_NE(first, second);
  allocator.deallocate(first);
  EXPECT_EQ(allocator.allocate(9999), first);  // of the same class
  allocator.deallocate(first);
  allocator.deallocate(second);
}

// The last batch of an epoch is smaller: it must not keep a second set of blocks beside the first.
TEST(CachingAllocator, GivesASmallerRequestABlockUpToHalfAsLargeAgain) {
  CachingAllocator allocator;
  void* large = allocator.allocate(12800);
  allocator.deallocate(large);
  void* smaller = allocator.allocate(9600);
  EXPECT_EQ(smaller, large);
  allocator.deallocate(smaller);
  void* small = allocator.allocate(6400);
  EXPECT_NE(small, large);
  allocator.deallocate(small);
  EXPECT_EQ(allocator.allocate(12800), large);  // it is still of its own size
  allocator.deallocate(large);
}

/// Calls f() once on each of a pool's threads, the caller among them.
template <class F>
void on_each_thread(ThreadPool& pool, const F& f) {
  std::atomic<int> begun{0};
  const int threads = pool.size();
  pool.parallel_chunks(threads, 1, [&](int, std::int64_t, std::int64_t) {
    // Who waits here takes no other's chunk.
    for (++begun; begun < threads;) std::this_thread::yield();
    f();
  });
}

// Note [Far caches]
TEST(CachingAllocator, EachWorkerFindsItsOwnBlocksAgain) {
  CachingAllocator allocator;
  ThreadPool pool(3);
  std::mutex mutex;
  std::map<int, std::set<void*>> blocks;  // by worker
  for (int i = 0; i < 100; ++i)
    on_each_thread(pool, [&] {
      void* memory = allocator.allocate(100000);
      {
        const std::lock_guard lock(mutex);
        blocks[worker_number()].insert(memory);
      }
      allocator.deallocate(memory);
    });
  ASSERT_EQ(blocks.size(), 3u);
  std::set<void*> all;
  for (const auto& [worker, own] : blocks) {
    EXPECT_EQ(own.size(), 1u) << worker;
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(all.size(), 3u);
}

// Who gives a block back may be another thread than the one it was made for.
TEST(CachingAllocator, ABlockGoesBackToTheThreadItWasMadeFor) {
  CachingAllocator allocator;
  ThreadPool pool(2);
  void* of_caller = allocator.allocate(100000);
  on_each_thread(pool, [&] {
    if (worker_number() == 1) allocator.deallocate(of_caller);
  });
  EXPECT_EQ(allocator.allocate(100000), of_caller);
  allocator.deallocate(of_caller);
}

// What lies beside a block that was lent as too large would be written over.
TEST(CachingAllocator, NeverHandsOutASmallerBlock) {
  CachingAllocator allocator;
  std::vector<std::pair<unsigned char*, std::size_t>> neighbours;
  for (std::size_t bytes = 1; bytes < 3000; bytes += 37) {
    void* memory = allocator.allocate(bytes);
    neighbours.emplace_back(static_cast<unsigned char*>(allocator.allocate(bytes)), bytes);
    std::memset(neighbours.back().first, 7, bytes);
    allocator.deallocate(memory);
    void* larger = allocator.allocate(bytes + 36);
    std::memset(larger, 1, bytes + 36);
    allocator.deallocate(larger);
  }
  for (const auto& [memory, bytes] : neighbours) {
    EXPECT_EQ(std::count(memory, memory + bytes, 7), static_cast<std::ptrdiff_t>(bytes));
    allocator.deallocate(memory);
  }
}

// Blocks that are cut from the same pages, of sizes that do not fill them.
TEST(CachingAllocator, BlocksOfOneSlabDoNotOverlap) {
  CachingAllocator allocator;
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (int i = 0; i < 60; ++i) {
    const std::size_t bytes = 16000 + 31337u * static_cast<unsigned>(i);
    auto* memory = static_cast<unsigned char*>(allocator.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % CachingAllocator::kAlignment, 0u) << bytes;
    std::memset(memory, i, bytes);
    blocks.emplace_back(memory, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [memory, bytes] = blocks[i];
    EXPECT_TRUE(std::all_of(memory, memory + bytes, [&](unsigned char b) { return b == i; })) << i;
    allocator.deallocate(memory);
  }
}

// When memory is short, free blocks go back to the system; those that cannot are still there.
TEST(CachingAllocator, ABlockCanBeHadAfterMemoryRanOut) {
  if (!HugeSlabs::takes(300000)) GTEST_SKIP() << "a sanitizer ends the program that wants so much";
  CachingAllocator allocator;
  for (const std::size_t bytes : {1000u, 300000u, 3u << 20}) allocator.deallocate(allocator.allocate(bytes));
  test::expect_error([&] { allocator.allocate(std::size_t{1} << 46); }, "out of memory");
  for (const std::size_t bytes : {1000u, 300000u, 3u << 20}) {
    void* memory = allocator.allocate(bytes);
    std::memset(memory, 1, bytes);
    allocator.deallocate(memory);
  }
}

// What only the beginning of a training needed must not lie beside its checkpoints.
TEST(CachingAllocator, GivesLargeBlocksBackThatNothingHasWantedForLong) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr std::size_t kIdle = 64u << 20, kBusy = 32u << 20;
  CachingAllocator allocator;
  void* idle = allocator.allocate(kIdle);
  void* busy = allocator.allocate(kBusy);
  std::memset(idle, 1, kIdle), std::memset(busy, 1, kBusy);
  allocator.deallocate(idle);
  for (std::uint64_t i = 0; i < CachingAllocator::kIdleAllocations; ++i) {
    allocator.deallocate(busy);
    ASSERT_EQ(allocator.allocate(kBusy), busy);
  }
  allocator.deallocate(busy);
  const std::size_t before = resident_bytes();
  allocator.deallocate(allocator.allocate(3u << 20));
  EXPECT_LT(resident_bytes() + kIdle - (8u << 20), before);
  EXPECT_EQ(allocator.allocate(kBusy), busy) << "it was in use";
  allocator.deallocate(busy);
}

TEST(CachingAllocator, WhatIsWantedOnceGoesBackAtOnce) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr std::size_t kBytes = 64u << 20, kSlack = 8u << 20;
  CachingAllocator allocator;
  const std::size_t before = resident_bytes();
  for (int i = 0; i < 3; ++i) {
    void* memory = allocator.allocate_once(kBytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % CachingAllocator::kAlignment, 0u);
    std::memset(memory, 1, kBytes);
    EXPECT_GT(resident_bytes() + kSlack, before + kBytes);
    allocator.deallocate(memory);
    EXPECT_LT(resident_bytes(), before + kSlack);
  }
}

// A snapshot does not lie beside the scratch of the step before it.
TEST(CachingAllocator, FreeBlocksMakeRoomForWhatIsWantedOnce) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr std::size_t kScratch = 64u << 20;
  CachingAllocator allocator;
  void* scratch = allocator.allocate(kScratch);
  std::memset(scratch, 1, kScratch);
  allocator.deallocate(scratch);
  const std::size_t before = resident_bytes();
  allocator.deallocate(allocator.allocate_once(3u << 20));
  EXPECT_LT(resident_bytes() + kScratch - (8u << 20), before);
}

TEST(CachingAllocator, AnErrorCarriesTheSize) {
  CachingAllocator allocator;
  test::expect_error([&] { allocator.allocate(std::size_t{1} << 60); },
                     "out of memory, bytes wanted: 1152921504606846976");
  test::expect_error([&] { allocator.allocate_once(std::size_t{1} << 60); },
                     "out of memory, bytes wanted: 1152921504606846976");
}

TEST(CachingAllocator, ServesSeveralThreads) {
  CachingAllocator allocator;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        auto* memory = static_cast<int*>(allocator.allocate(256));
        std::fill_n(memory, 64, t);
        std::this_thread::yield();
        for (int i = 0; i < 64; ++i) ASSERT_EQ(memory[i], t);
        allocator.deallocate(memory);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ronde
