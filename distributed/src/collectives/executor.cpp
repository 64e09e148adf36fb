#include "collectives/executor.h"

#include <algorithm>
#include <chrono>

#include <ronde/core/error.h>
#include <ronde/core/signals.h>
#include <ronde/core/trace.h>

namespace ronde::inline v0 {
namespace {

constexpr double kLongestWait = 3e7;  // seconds; far more would be no time of the clock's

}  // namespace

void Task::run() {
  std::exception_ptr error;
  try {
    function_();
  } catch (...) {
    error = std::current_exception();
  }
  // The tensors that the function holds are released before anybody hears that it is done, so that a waiting
  // thread may count on being their only owner again.
  function_ = nullptr;
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  done_ = true;
  finished_.notify_all();
}

bool Task::done() {
  const std::lock_guard lock(mutex_);
  observed_ = done_;
  return done_;
}

bool Task::is_observed() {
  const std::lock_guard lock(mutex_);
  return observed_;
}

std::exception_ptr Task::error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

void Task::wait() {
  const TraceScope scope("wait", "wait for collective");
  if (const std::shared_ptr<TaskQueue> queue = queue_.lock()) queue->help(*this);
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return done_; });
  observed_ = true;
  if (error_) std::rethrow_exception(error_);
}

bool Task::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  // Through the system clock, whose timed wait ThreadSanitizer of gcc 12 can follow.
  const double span = std::clamp(seconds, 0.0, kLongestWait);
  const auto deadline =
      std::chrono::system_clock::now() + std::chrono::microseconds(std::int64_t(span * 1e6));
  observed_ = finished_.wait_until(lock, deadline, [&] { return done_; });
  return observed_;
}

void TaskQueue::push(std::shared_ptr<Task> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  wake_.notify_one();
}

void TaskQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return !is_running_ && (is_closed_ || !tasks_.empty()); });
    if (tasks_.empty()) return;
    run_next(lock);
  }
}

void TaskQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  wake_.notify_one();
}

void TaskQueue::help(Task& task) {
  std::unique_lock lock(mutex_);
  require<UsageError>(!is_running_ || runner_ != std::this_thread::get_id() || task.done(),
                      "[distributed] an operation waits for one that comes after it: inside of a sequence, "
                      "use the communicator that it is given");
  if (runs_ == Runs::here) return;
  while (!is_running_ && !tasks_.empty() && !task.done()) run_next(lock);
}

void TaskQueue::run_next(std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<Task> task = std::move(tasks_.front());
  tasks_.pop_front();
  is_running_ = true;
  runner_ = std::this_thread::get_id();
  lock.unlock();
  task->run();
  std::exception_ptr error = task->error();
  lock.lock();
  is_running_ = false;
  if (error) errors_.push_back(std::move(error));
  if (is_closed_ || !tasks_.empty()) wake_.notify_one();
}

WorkerThread::WorkerThread(Runs runs)
    : queue_(std::make_shared<TaskQueue>(runs)), thread_([queue = queue_] {
        block_signals();
        name_trace_thread("communication");
        queue->work();
      }) {}

WorkerThread::~WorkerThread() {
  if (!process_.is_here()) {
    leak(std::move(thread_));
    return;
  }
  queue_->close();
  // The thread owns all that it uses.
  is_abandoned_ ? thread_.detach() : thread_.join();
}

std::shared_ptr<Task> WorkerThread::submit(std::function<void()> function) {
  auto task = std::make_shared<Task>(std::move(function), queue_);
  queue_->push(task);
  return task;
}

std::shared_ptr<Task> CallerExecutor::submit(std::function<void()> function) {
  auto task = std::make_shared<Task>(std::move(function));
  task->run();
  return task;
}

}  // namespace ronde::inline v0
