/// Where a communicator's operations run: on a thread of their own, or on the thread that calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ronde/distributed/work.h>

#include "transport/own_process.h"

namespace ronde::inline v0 {

class TaskQueue;

/// One operation: a function that runs once, and what it threw.
class Task : public Work::State {
 public:
  /// Who waits for it may run it, and what stands before it in `queue`.
  explicit Task(std::function<void()> function, std::weak_ptr<TaskQueue> queue = {})
      : function_(std::move(function)), queue_(std::move(queue)) {}

  void run();
  bool done() override;
  void wait() override;
  /// Once done: what it threw, if it did.
  std::exception_ptr error();
  bool wait_for(double seconds) override;
  /// Whether somebody has learnt that it is done.
  bool is_observed();

 private:
  std::function<void()> function_;
  std::weak_ptr<TaskQueue> queue_;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  bool observed_ = false;
  std::exception_ptr error_;
};

/// Runs tasks one after the other, in the order in which they were submitted.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::shared_ptr<Task> submit(std::function<void()> function) = 0;
  /// Whether a submitted task runs while the caller goes on.
  virtual bool overlaps() const = 0;
  /// What is submitted may never be done: the destructor is not to wait for it.
  virtual void abandon() {}
};

/// Tasks that run one at a time, in order, each on the first thread that has time for it. A thread that waits
/// has: it need not hand its task to another one and be woken up by it, which takes longer than a small
/// collective does.
class TaskQueue {
 public:
  enum class Runs {
    anywhere,  ///< who waits for a task may run it
    here,      ///< who calls `work` runs all
  };

  explicit TaskQueue(Runs runs = Runs::anywhere) : runs_(runs) {}
  void push(std::shared_ptr<Task> task);
  /// Runs what comes, until `close` was called and nothing is left.
  void work();
  void close();
  /// For who waits for `task`: runs tasks until it is done, or somebody else runs one, unless only `work`
  /// may. An error where `task` can never be done, because the task that waits for it stands before it.
  void help(Task& task);

 private:
  void run_next(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Task>> tasks_;
  // Kept until the end, so that an exception is freed by who owns this object, and not while a waiting thread
  // looks at it. The standard library's counts would allow that, but ThreadSanitizer cannot see them. Not the
  // tasks: one that nobody else keeps is over, and its name is free.
  std::vector<std::exception_ptr> errors_;
  const Runs runs_;
  bool is_running_ = false;
  std::thread::id runner_;  // while it is
  bool is_closed_ = false;
};

/// A thread. Its destructor waits for what is still queued, unless that was abandoned.
class WorkerThread final : public Executor {
 public:
  using Runs = TaskQueue::Runs;

  explicit WorkerThread(Runs runs = Runs::anywhere);
  ~WorkerThread() override;
  std::shared_ptr<Task> submit(std::function<void()> function) override;
  bool overlaps() const override { return true; }
  void abandon() override { is_abandoned_ = true; }

 private:
  OwnProcess process_;
  std::atomic<bool> is_abandoned_ = false;
  std::shared_ptr<TaskQueue> queue_;
  std::thread thread_;
};

/// The caller's thread: `submit` returns when the task is done.
class CallerExecutor final : public Executor {
 public:
  std::shared_ptr<Task> submit(std::function<void()> function) override;
  bool overlaps() const override { return false; }
};

}  // namespace ronde::inline v0
