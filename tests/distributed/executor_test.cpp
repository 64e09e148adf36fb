#include "collectives/executor.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>
#include <ronde/core/error.h>

namespace ronde::test {
namespace {

std::shared_ptr<Task> push(const std::shared_ptr<TaskQueue>& queue, std::function<void()> function) {
  auto task = std::make_shared<Task>(std::move(function), queue);
  queue->push(task);
  return task;
}

// Nobody else works here, so whoever waits must.
TEST(TaskQueue, WhoWaitsRunsWhatHasNotBegunInOrder) {
  const auto queue = std::make_shared<TaskQueue>();
  std::vector<int> order;
  const auto first = push(queue, [&] { order.push_back(1); });
  const auto second = push(queue, [&] { order.push_back(2); });
  const auto third = push(queue, [&] { order.push_back(3); });
  second->wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(first->done());
  EXPECT_FALSE(third->done());
  third->wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(TaskQueue, AnErrorIsThrownToWhoWaitsForItAndToNobodyElse) {
  const auto queue = std::make_shared<TaskQueue>();
  const auto bad = push(queue, [] { throw std::runtime_error("lost"); });
  const auto good = push(queue, [] {});
  good->wait();
  EXPECT_THROW(bad->wait(), std::runtime_error);
  EXPECT_THROW(bad->wait(), std::runtime_error);
}

TEST(TaskQueue, RunsWhatIsLeftWhenItIsClosed) {
  const auto queue = std::make_shared<TaskQueue>();
  int count = 0;
  for (int k = 0; k < 3; ++k) push(queue, [&] { ++count; });
  queue->close();
  queue->work();
  EXPECT_EQ(count, 3);
}

// A worker and several who wait: one task at a time, in order, each once.
TEST(WorkerThread, ManyWhoWaitKeepTheOrder) {
  constexpr int kTasks = 300;
  WorkerThread worker;
  std::vector<int> order;  // not atomic: tasks never overlap
  std::vector<std::shared_ptr<Task>> tasks;
  std::atomic<int> inside = 0;
  for (int k = 0; k < kTasks; ++k)
    tasks.push_back(worker.submit([&, k] {
      EXPECT_EQ(inside++, 0);
      order.push_back(k);
      --inside;
    }));
  std::vector<std::thread> waiting;
  for (int t = 0; t < 3; ++t)
    waiting.emplace_back([&, t] {
      for (int k = t; k < kTasks; k += 3) tasks[static_cast<std::size_t>(k)]->wait();
    });
  for (std::thread& thread : waiting) thread.join();
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kTasks));
  for (int k = 0; k < kTasks; ++k) EXPECT_EQ(order[static_cast<std::size_t>(k)], k);
}

TEST(WorkerThread, RunsTasksHereWhenToldTo) {
  WorkerThread worker(WorkerThread::Runs::here);
  for (int k = 0; k < 50; ++k) {
    std::thread::id where;
    worker.submit([&] { where = std::this_thread::get_id(); })->wait();
    EXPECT_NE(where, std::this_thread::get_id());
  }
}

TEST(WorkerThread, AnyTimeCanBeWaited) {
  WorkerThread worker;
  const double ever = std::numeric_limits<double>::infinity();
  for (const double seconds : {1e9, 1e10, 1e13, 1e300, ever}) {
    const auto task = worker.submit([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    EXPECT_TRUE(task->wait_for(seconds)) << seconds;
  }
  const auto last = worker.submit([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  EXPECT_FALSE(last->wait_for(-ever));
}

TEST(WorkerThread, ATaskThatWaitsForALaterOneIsAnError) {
  for (const auto runs : {WorkerThread::Runs::here, WorkerThread::Runs::anywhere}) {
    WorkerThread worker(runs);
    EXPECT_THROW(worker.submit([&] { worker.submit([] {})->wait(); })->wait(), UsageError);
  }
}

// Work may be kept for longer than what ran it.
TEST(WorkerThread, TasksOutliveIt) {
  std::shared_ptr<Task> task;
  int count = 0;
  {
    WorkerThread worker;
    task = worker.submit([&] { ++count; });
  }
  task->wait();
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace ronde::test
