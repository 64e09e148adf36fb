#include <ronde/core/thread_pool.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/testing.h"

namespace ronde {
namespace {

TEST(ThreadPool, CoversEachIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {0, 1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      pool.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& n : visits) ASSERT_EQ(n, 1) << threads << " threads, count " << count;
    }
  }
}

TEST(ThreadPool, ChunksAreNumberedInOrderAndKeepTheGrain) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.chunks(0, 1), 0);
  EXPECT_EQ(pool.chunks(9, 10), 1);
  EXPECT_EQ(pool.chunks(29, 10), 2);
  EXPECT_EQ(pool.chunks(1000, 10), 4);
  EXPECT_EQ(pool.chunks(3, 0), 3);
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges(4);
  pool.parallel_chunks(10, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    ranges[static_cast<std::size_t>(chunk)] = {begin, end};
  });
  std::int64_t next = 0;
  for (const auto& [begin, end] : ranges) {
    EXPECT_EQ(begin, next);
    EXPECT_GT(end, begin);
    next = end;
  }
  EXPECT_EQ(next, 10);
}

TEST(FixedChunks, CutLoopsTheSameWayForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8, 11}) {
    ThreadPool pool(threads);
    const FixedChunks fixed(8);
    EXPECT_EQ(pool.chunks(1000, 10), 8);
    EXPECT_EQ(pool.chunks(29, 10), 2);
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges(8);
    std::vector<int> inner(8);
    pool.parallel_chunks(100, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
      ranges[static_cast<std::size_t>(chunk)] = {begin, end};
      inner[static_cast<std::size_t>(chunk)] = pool.chunks(1000, 1);
    });
    for (std::int64_t c = 0; c < 8; ++c)
      EXPECT_EQ(ranges[static_cast<std::size_t>(c)], std::make_pair(100 * c / 8, 100 * (c + 1) / 8))
          << threads;
    EXPECT_EQ(inner, std::vector<int>(8, 8)) << threads;
  }
}

TEST(FixedChunks, EndWithTheirScopeAndStayOnTheirThread) {
  ThreadPool pool(2);
  {
    const FixedChunks fixed(8);
    std::thread([&] { EXPECT_EQ(pool.chunks(1000, 1), 2); }).join();
    const FixedChunks inner(3);
    EXPECT_EQ(pool.chunks(1000, 1), 3);
  }
  EXPECT_EQ(pool.chunks(1000, 1), 2);
  pool.parallel_for(1000, 1, [&](std::int64_t, std::int64_t) { EXPECT_EQ(pool.chunks(1000, 1), 2); });
}

TEST(FewerThreads, LimitTheLoopsOfTheirThreadAndThoseWithin) {
  ThreadPool pool(4);
  {
    const FewerThreads limit(2);
    EXPECT_EQ(pool.size(), 2);
    EXPECT_EQ(pool.chunks(1000, 1), 2);
    std::thread([&] { EXPECT_EQ(pool.size(), 4); }).join();
    std::atomic<int> calls = 0;
    pool.parallel_for(1000, 1, [&](std::int64_t, std::int64_t) {
      ++calls;
      EXPECT_EQ(pool.chunks(1000, 1), 2);
    });
    EXPECT_EQ(calls, 2);
    const FewerThreads none(0), more(9);
    EXPECT_EQ(pool.size(), 1);
  }
  EXPECT_EQ(pool.size(), 4);
}

TEST(ThreadPool, UsesSeveralThreads) {
  ThreadPool pool(3);
  // Each chunk waits for all of them to have begun: this ends only when three threads run.
  std::atomic<int> begun = 0;
  std::mutex mutex;
  std::set<std::thread::id> ids;
  pool.parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    while (begun < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

TEST(ThreadPool, RethrowsTheErrorOfTheLowestChunkAndGoesOn) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    std::string caught;
    try {
      pool.parallel_chunks(4, 1, [](int chunk, std::int64_t, std::int64_t) {
        if (chunk > 0) throw std::runtime_error("chunk " + std::to_string(chunk));
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    EXPECT_EQ(caught, "chunk 1");
    std::atomic<int> calls = 0;
    pool.parallel_for(4, 1, [&](std::int64_t, std::int64_t) { ++calls; });
    EXPECT_EQ(calls, 4);
  }
}

TEST(ThreadPool, AnErrorWithoutWorkersIsThrownToo) {
  ThreadPool pool(1);
  EXPECT_THROW(pool.parallel_for(1, 1, [](std::int64_t, std::int64_t) { throw std::logic_error("x"); }),
               std::logic_error);
}

TEST(ThreadPool, ANestedLoopRunsInlineInTheSameChunks) {
  ThreadPool pool(3);
  std::atomic<int> sum = 0, foreign = 0, chunks = 0;
  pool.parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    pool.parallel_chunks(30, 1, [&](int, std::int64_t begin, std::int64_t end) {
      if (std::this_thread::get_id() != outer) ++foreign;
      ++chunks;
      sum += static_cast<int>(end - begin);
    });
  });
  EXPECT_EQ(sum, 90);
  EXPECT_EQ(chunks, 9);
  EXPECT_EQ(foreign, 0);
}

TEST(ThreadPool, LoopsOfSeveralThreadsDoNotDisturbEachOther) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round)
        pool.parallel_for(17, 1, [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 300 * 17);
}

TEST(ThreadPool, WakesWorkersThatFellAsleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than workers stay awake
    std::atomic<int> begun = 0;
    pool.parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
      ++begun;
      while (begun < 2) std::this_thread::yield();
    });
  }
}

// The child has the pool, but none of its threads: who starts a loop does all of it.
TEST(ThreadPool, AForkedChildComputesAlone) {
  ThreadPool pool(3);
  const auto add_up = [&] {
    std::atomic<std::int64_t> sum = 0;
    pool.parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sum += i;
    });
    return sum.load();
  };
  EXPECT_EQ(add_up(), 499500);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // instead of a test that hangs
    bool right = true;
    for (int i = 0; i < 100; ++i) right = right && add_up() == 499500;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, Resizes) {
  ThreadPool pool(1);
  for (const int threads : {4, 2, 1, 3}) {
    pool.resize(threads);
    EXPECT_EQ(pool.size(), threads);
    std::atomic<int> chunks = 0;
    pool.parallel_for(100, 1, [&](std::int64_t, std::int64_t) { ++chunks; });
    EXPECT_EQ(chunks, threads);
  }
  test::expect_error([&] { pool.resize(0); }, "at least 1 thread, got 0");
  EXPECT_EQ(pool.size(), 3);
  test::expect_error([&] { pool.parallel_for(3, 1, [&](std::int64_t, std::int64_t) { pool.resize(2); }); },
                     "resized while a loop is running");
}

// As two parts of a program do that know nothing of each other, while one of them computes.
TEST(ThreadPool, MayBeGivenTheSizeThatItHasAtAnyTime) {
  ThreadPool pool(1);
  const auto compute = [&] {
    pool.resize(3);
    pool.parallel_for(3, 1, [&](std::int64_t, std::int64_t) { pool.resize(3); });
  };
  std::thread other(compute);
  EXPECT_NO_THROW(compute());
  other.join();
  EXPECT_EQ(pool.size(), 3);
}

}  // namespace
}  // namespace ronde
