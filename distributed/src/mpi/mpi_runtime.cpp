#include "mpi_runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <sys/prctl.h>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Note [Waiting for ranks]: the first tests follow each other closely, for ranks that arrive together; then
// the thread sleeps between tests, for about 3 % of the time it has waited so far, so that a wait ends at
// most that much too late, and up to a length at which waiting costs 1 to 3 % of a core.
constexpr microseconds kEagerTests{50};
constexpr microseconds kShortestSleep{20};
constexpr microseconds kLongestSleep{1000};
constexpr int kWaitedPerSleep = 32;

// By default the kernel may prolong each sleep by 50 us, more than most of the sleeps here.
void make_short_sleeps_exact() {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

int query_level() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level;
}

bool is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

void require_not_finalized() {
  require<UsageError>(!is_finalized(),
                      "[mpi] MPI_Finalize was called, and MPI starts once in a process: call it after the "
                      "last use of Ronde's communicators");
}

}  // namespace

void check_mpi(int code, const char* what, int rank) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(cat("[mpi] ", what, " failed on rank ", rank, ": ",
                  std::string(text, static_cast<std::size_t>(length))));
}

std::shared_ptr<MpiRuntime> MpiRuntime::get() {
  require_not_finalized();
  // MPI is one per process and cannot be started twice, so neither can this.
  static const std::shared_ptr<MpiRuntime> runtime = std::make_shared<MpiRuntime>();
  return runtime;
}

MpiRuntime::MpiRuntime() {
  int started = 0;
  MPI_Initialized(&started);
  if (started) {
    if (query_level() == MPI_THREAD_MULTIPLE) {
      executor_ = std::make_shared<WorkerThread>(WorkerThread::Runs::here);
    } else {
      executor_ = std::make_shared<CallerExecutor>();
    }
  } else {
    owns_mpi_ = true;
    executor_ = std::make_shared<WorkerThread>(WorkerThread::Runs::here);
    executor_
        ->submit([] {
          int level = MPI_THREAD_SINGLE;
          check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread", 0);
        })
        ->wait();
  }
  allows_threads_ = query_level() == MPI_THREAD_MULTIPLE;
  allows_one_thread_ = query_level() < MPI_THREAD_SERIALIZED;
  executor_->submit(make_short_sleeps_exact)->wait();
}

MpiRuntime::~MpiRuntime() {
  if (!owns_mpi_ || !process_.is_here()) return;
  executor_
      ->submit([] {
        if (!is_finalized()) MPI_Finalize();
      })
      ->wait();
}

void MpiRuntime::check_may_call() const {
  require_not_finalized();
  if (!allows_one_thread_) return;
  int is_main = 0;
  MPI_Is_thread_main(&is_main);
  require<UsageError>(is_main,
                      "[mpi] the application started MPI for its main thread alone, and this is another "
                      "one: ask MPI_Init_thread for MPI_THREAD_MULTIPLE");
}

void MpiRuntime::wait(MPI_Request& request, const char* what, int rank) const {
  const auto start = Clock::now();
  for (;;) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what, rank);
    if (done) return;
    end_job_if_asked();
    const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - start);
    if (waited < kEagerTests) continue;
    std::this_thread::sleep_for(std::clamp(waited / kWaitedPerSleep, kShortestSleep, kLongestSleep));
  }
}

void MpiRuntime::end_job_if_asked() const {
  if (const int status = ending_status_.load()) MPI_Abort(MPI_COMM_WORLD, status);
}

void MpiRuntime::end_job(int status) {
  ending_status_ = status;
  executor_->submit([status] { MPI_Abort(MPI_COMM_WORLD, status); })->wait_for(2.0);
  // The thread is stuck inside MPI. Leaving without MPI_Finalize makes the launcher end the job.
  std::_Exit(status);
}

}  // namespace ronde::inline v0
