#include "executor.h"

#include <chrono>

#include <ronde/core/trace.h>

namespace ronde::inline v0 {

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

bool Task::failed() {
  const std::lock_guard lock(mutex_);
  return error_ != nullptr;
}

void Task::wait() {
  const TraceScope scope("wait", "wait for collective");
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return done_; });
  observed_ = true;
  if (error_) std::rethrow_exception(error_);
}

bool Task::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  // Through the system clock, whose timed wait ThreadSanitizer of gcc 12 can follow.
  const auto deadline =
      std::chrono::system_clock::now() + std::chrono::microseconds(std::int64_t(seconds * 1e6));
  observed_ = finished_.wait_until(lock, deadline, [&] { return done_; });
  return observed_;
}

WorkerThread::WorkerThread() : thread_([this] { loop(); }) {}

WorkerThread::~WorkerThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_all();
  }
  thread_.join();
}

std::shared_ptr<Task> WorkerThread::submit(std::function<void()> function) {
  auto task = std::make_shared<Task>(std::move(function));
  const std::lock_guard lock(mutex_);
  queue_.push_back(task);
  wake_.notify_one();
  return task;
}

void WorkerThread::loop() {
  name_trace_thread("communication");
  for (;;) {
    std::shared_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task->run();
    if (task->failed()) failed_.push_back(std::move(task));
  }
}

std::shared_ptr<Task> CallerExecutor::submit(std::function<void()> function) {
  auto task = std::make_shared<Task>(std::move(function));
  task->run();
  return task;
}

}  // namespace ronde::inline v0
