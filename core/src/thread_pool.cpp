#include <ronde/core/thread_pool.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/core/signals.h>
#include <ronde/core/trace.h>

#include "denormals/flushed_denormals.h"
#include "worker_number.h"

namespace ronde::inline v0 {

namespace {

// What a worker is up to. The caller moves idle -> posted and, when it was faster than the worker, takes the
// chunk back with posted -> idle; only the worker itself moves posted -> running -> idle.
enum Phase : int { idle, posted, running, quit };

// Waking a thread takes some 50 us on a virtual machine, as long as a small kernel. So a thread stays awake
// long enough to bridge what one thread does between two kernels of a training step; but it soon offers its
// core to whoever wants it, such as the next rank.
constexpr auto kSpin = std::chrono::microseconds(30), kStayAwake = std::chrono::microseconds(200);

// Waits until `phase` is not `old`: first awake, then asleep.
void wait_while(const std::atomic<int>& phase, int old) {
  const auto begin = std::chrono::steady_clock::now();
  while (phase.load(std::memory_order_acquire) == old) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited >= kStayAwake) return phase.wait(old, std::memory_order_acquire);
    if (waited >= kSpin) std::this_thread::yield();
  }
}

thread_local int fixed_size = 0;                                  // of FixedChunks; 0: none
thread_local int most_threads = std::numeric_limits<int>::max();  // of FewerThreads
thread_local int number_of_worker = 0;                            // of worker_number

// What a thread does of a loop: chunks [first, last) of `chunks`; one, unless they are fixed.
struct Share {
  void (*body)(void* context, int chunk, std::int64_t begin, std::int64_t end) = nullptr;
  void* context = nullptr;
  std::int64_t count = 0;
  int chunks = 0, first = 0, last = 0;
  int fixed = 0, most = 0;

  void run() const {
    const FixedChunks as_the_caller(fixed);  // for loops inside this one
    const FewerThreads nor_more(most);
    const FlushedDenormals flushed;
    for (int c = first; c < last; ++c) body(context, c, count * c / chunks, count * (c + 1) / chunks);
  }
};

// Worker k always gets share k + 1, so that what it left in its cache is there for the next loop.
//
// libstdc++ looks for sleepers before it wakes them. Where one must not be missed, the store before that is
// sequentially consistent: x86 lets the look overtake a release, and a sleeper would sleep on. After a post
// it may: then the caller takes the share back.
struct alignas(64) Worker {
  std::atomic<int> phase = idle;
  Share share;
  std::exception_ptr error;
  std::thread thread;

  explicit Worker(int number) : thread([this, number] { work(number); }) {}
  ~Worker() {
    phase.store(quit);
    phase.notify_all();
    thread.join();
  }

  void work(int number) {
    number_of_worker = number;
    block_signals();
    name_trace_thread("compute");
    for (;;) {
      wait_while(phase, idle);
      int expected = posted;
      if (!phase.compare_exchange_strong(expected, running, std::memory_order_acq_rel)) {
        if (expected == quit) return;
        continue;  // the caller took the share back
      }
      {
        const TraceScope scope("parallel", "part of a loop");
        run_share();
      }
      phase.store(idle);
      phase.notify_all();
    }
  }

  void post(const Share& next) {
    share = next;
    phase.store(posted, std::memory_order_release);
    phase.notify_all();
  }

  // By the caller: runs the share here if the worker has not begun it.
  void take_back() {
    int expected = posted;
    if (phase.compare_exchange_strong(expected, idle, std::memory_order_acq_rel)) run_share();
  }

  void run_share() {
    try {
      share.run();
    } catch (...) {
      error = std::current_exception();
    }
  }

  std::exception_ptr finish() {
    wait_while(phase, running);
    return std::exchange(error, nullptr);
  }
};

}  // namespace

int worker_number() {
  return number_of_worker;
}

struct ThreadPool::State {
  std::vector<std::unique_ptr<Worker>> workers;  // one less than size()
  std::atomic_flag busy;
  std::mutex resizing;

  void start(int threads) {
    require<UsageError>(threads >= 1, "[thread_pool] needs at least 1 thread, got ", threads);
    while (static_cast<int>(workers.size()) > threads - 1) workers.pop_back();
    while (static_cast<int>(workers.size()) < threads - 1)
      workers.push_back(std::make_unique<Worker>(static_cast<int>(workers.size()) + 1));
  }

  // Runs share 0 here and the others on the workers; the error of the lowest share wins.
  void finish(const Share& share_0, int shares) {
    std::exception_ptr error;
    try {
      share_0.run();
    } catch (...) {
      error = std::current_exception();
    }
    for (int k = 1; k < shares; ++k) workers[static_cast<std::size_t>(k - 1)]->take_back();
    for (int k = 1; k < shares; ++k) {
      const std::exception_ptr other = workers[static_cast<std::size_t>(k - 1)]->finish();
      if (!error) error = other;
    }
    busy.clear(std::memory_order_release);
    if (error) std::rethrow_exception(error);
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  state_->start(threads);
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::size() const {
  return std::min(static_cast<int>(state_->workers.size()) + 1, most_threads);
}

void ThreadPool::resize(int threads) {
  const std::lock_guard lock(state_->resizing);
  if (threads == static_cast<int>(state_->workers.size()) + 1) return;
  const bool was_busy = state_->busy.test_and_set(std::memory_order_acquire);
  require(!was_busy, "[thread_pool] resized while a loop is running");
  try {
    state_->start(threads);
  } catch (...) {
    state_->busy.clear(std::memory_order_release);
    throw;
  }
  state_->busy.clear(std::memory_order_release);
}

int ThreadPool::chunks(std::int64_t count, std::int64_t grain) const {
  if (count <= 0) return 0;
  const std::int64_t most = count / std::max<std::int64_t>(grain, 1);
  return static_cast<int>(std::clamp<std::int64_t>(most, 1, fixed_size > 0 ? fixed_size : size()));
}

void ThreadPool::run_chunks(std::int64_t count, std::int64_t grain, Body body, void* context) {
  const int n = chunks(count, grain), shares = std::min(n, size());
  const auto share = [&](int k) {
    return Share{body, context, count, n, k * n / shares, (k + 1) * n / shares, fixed_size, most_threads};
  };
  // A loop inside a loop, or beside one of another thread, runs here alone, in the same chunks.
  if (shares <= 1 || state_->busy.test_and_set(std::memory_order_acquire)) {
    for (int k = 0; k < shares; ++k) share(k).run();
    return;
  }
  for (int k = 1; k < shares; ++k) state_->workers[static_cast<std::size_t>(k - 1)]->post(share(k));
  state_->finish(share(0), shares);
}

FixedChunks::FixedChunks(int size) : before_(fixed_size) {
  fixed_size = size;
}

FixedChunks::~FixedChunks() {
  fixed_size = before_;
}

FewerThreads::FewerThreads(int most) : before_(most_threads) {
  most_threads = std::min(before_, std::max(most, 1));
}

FewerThreads::~FewerThreads() {
  most_threads = before_;
}

}  // namespace ronde::inline v0
