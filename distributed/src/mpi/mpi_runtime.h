/// The one MPI of this process, and the thread that may call it.
#pragma once

#include <atomic>
#include <memory>

#include <mpi.h>

#include "executor.h"

namespace ronde::inline v0 {

/// Starts MPI on a worker thread, unless the application has. Finalises it, if it started it, when the last
/// owner lets go: the process itself (at exit) and every communicator own it.
class MpiRuntime {
 public:
  static std::shared_ptr<MpiRuntime> get();

  MpiRuntime();
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;

  const std::shared_ptr<Executor>& executor() const { return executor_; }

  /// Called on the executor: waits for a request, asleep nearly all the time.
  void wait(MPI_Request& request, const char* what, int rank) const;
  /// Asks the executor's thread, even in the middle of a wait, to abort the job.
  [[noreturn]] void abort(int status);

 private:
  std::shared_ptr<Executor> executor_;
  bool owns_mpi_ = false;
  std::atomic<int> abort_status_{0};
};

/// Throws an Error with MPI's text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* what, int rank);

}  // namespace ronde::inline v0
