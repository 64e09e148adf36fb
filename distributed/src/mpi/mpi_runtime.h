/// The one MPI of this process, and the thread that may call it.
#pragma once

#include <atomic>
#include <memory>

#include <mpi.h>

#include "collectives/executor.h"

namespace ronde::inline v0 {

/// Starts MPI on a worker thread, with as much support of threads as it has, unless the application has.
/// Finalises it, if it started it, when the last owner lets go: the process itself (at exit) and every
/// communicator own it.
class MpiRuntime {
 public:
  static std::shared_ptr<MpiRuntime> get();

  MpiRuntime();
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;

  const std::shared_ptr<Executor>& executor() const { return executor_; }
  /// Whether several threads may call MPI at the same time.
  bool allows_threads() const { return allows_threads_; }

  /// Called on the executor, before MPI is: a UsageError where MPI would end the job, or do anything at all.
  void check_may_call() const;
  /// Called on the executor: waits for a request, asleep nearly all the time.
  void wait(MPI_Request& request, const char* what, int rank) const;
  /// Asks the executor's thread, even in the middle of a wait, to end the job, as MPI_Abort does.
  [[noreturn]] void end_job(int status);
  /// Does it, where waiting does not go through `wait`.
  void end_job_if_asked() const;

 private:
  OwnProcess process_;
  std::shared_ptr<Executor> executor_;
  bool owns_mpi_ = false;
  bool allows_threads_ = false;
  bool allows_one_thread_ = false;  // that which has started MPI
  std::atomic<int> ending_status_{0};
};

/// Throws an Error with MPI's text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* what, int rank);

}  // namespace ronde::inline v0
