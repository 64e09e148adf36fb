/// Where a communicator's operations run: on a thread of their own, or on the thread that calls.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ronde/distributed/work.h>

namespace ronde::inline v0 {

/// One operation: a function that runs once, and what it threw.
class Task : public Work::State {
 public:
  explicit Task(std::function<void()> function) : function_(std::move(function)) {}

  void run();
  bool done() override;
  void wait() override;
  /// Once done: whether it threw.
  bool failed();
  bool wait_for(double seconds) override;
  /// Whether somebody has learnt that it is done.
  bool is_observed();

 private:
  std::function<void()> function_;
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
};

/// A thread. Its destructor runs what is still queued.
class WorkerThread final : public Executor {
 public:
  WorkerThread();
  ~WorkerThread() override;
  std::shared_ptr<Task> submit(std::function<void()> function) override;
  bool overlaps() const override { return true; }

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Task>> queue_;
  // Kept until the end, so that an exception is freed by the thread that owns this object and not here, while
  // a waiting thread looks at it. The standard library's counts would allow that, but ThreadSanitizer cannot
  // see them.
  std::vector<std::shared_ptr<Task>> failed_;
  bool stop_ = false;
  std::thread thread_;
};

/// The caller's thread: `submit` returns when the task is done.
class CallerExecutor final : public Executor {
 public:
  std::shared_ptr<Task> submit(std::function<void()> function) override;
  bool overlaps() const override { return false; }
};

}  // namespace ronde::inline v0
