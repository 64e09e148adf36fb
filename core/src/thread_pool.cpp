#include <ronde/core/thread_pool.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

namespace {

// What a worker is up to. The caller moves idle -> posted and, when it was faster than the worker, takes the
// chunk back with posted -> idle; only the worker itself moves posted -> running -> idle.
enum Phase : int { idle, posted, running, quit };

// Long enough to bridge two kernels of one training step, short enough not to steal from the next rank on
// this core.
constexpr auto kSpin = std::chrono::microseconds(30);

// Waits until `phase` is not `old`: first awake, then asleep.
void wait_while(const std::atomic<int>& phase, int old) {
  const auto asleep_from = std::chrono::steady_clock::now() + kSpin;
  while (phase.load(std::memory_order_acquire) == old)
    if (std::chrono::steady_clock::now() >= asleep_from) return phase.wait(old, std::memory_order_acquire);
}

struct Chunk {
  void (*body)(void* context, int chunk, std::int64_t begin, std::int64_t end) = nullptr;
  void* context = nullptr;
  int number = 0;
  std::int64_t begin = 0, end = 0;

  void run() const { body(context, number, begin, end); }
};

// Worker k always gets chunk k + 1, so that what it left in its cache is there for the next loop.
struct alignas(64) Worker {
  std::atomic<int> phase = idle;
  Chunk chunk;
  std::exception_ptr error;
  std::thread thread;

  Worker() : thread([this] { work(); }) {}
  ~Worker() {
    phase.store(quit, std::memory_order_release);
    phase.notify_all();
    thread.join();
  }

  void work() {
    for (;;) {
      wait_while(phase, idle);
      int expected = posted;
      if (!phase.compare_exchange_strong(expected, running, std::memory_order_acq_rel)) {
        if (expected == quit) return;
        continue;  // the caller took the chunk back
      }
      run_chunk();
      phase.store(idle, std::memory_order_release);
      phase.notify_all();
    }
  }

  void post(const Chunk& next) {
    chunk = next;
    phase.store(posted, std::memory_order_release);
    phase.notify_all();
  }

  // By the caller: runs the chunk here if the worker has not begun it.
  void take_back() {
    int expected = posted;
    if (phase.compare_exchange_strong(expected, idle, std::memory_order_acq_rel)) run_chunk();
  }

  void run_chunk() {
    try {
      chunk.run();
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

struct ThreadPool::State {
  std::vector<std::unique_ptr<Worker>> workers;  // one less than size()
  std::atomic_flag busy;

  void start(int threads) {
    require<UsageError>(threads >= 1, "[thread_pool] needs at least 1 thread, got ", threads);
    while (static_cast<int>(workers.size()) > threads - 1) workers.pop_back();
    while (static_cast<int>(workers.size()) < threads - 1) workers.push_back(std::make_unique<Worker>());
  }

  // Runs chunk 0 here and the others on the workers; the error of the lowest chunk wins.
  void share(const Chunk& chunk_0, int chunks) {
    std::exception_ptr error;
    try {
      chunk_0.run();
    } catch (...) {
      error = std::current_exception();
    }
    for (int c = 1; c < chunks; ++c) workers[static_cast<std::size_t>(c - 1)]->take_back();
    for (int c = 1; c < chunks; ++c) {
      const std::exception_ptr other = workers[static_cast<std::size_t>(c - 1)]->finish();
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
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::resize(int threads) {
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
  const std::int64_t most = count / std::max<std::int64_t>(grain, 1);
  return count <= 0 ? 0 : static_cast<int>(std::clamp<std::int64_t>(most, 1, size()));
}

void ThreadPool::run_chunks(std::int64_t count, std::int64_t grain, Body body, void* context) {
  const int n = chunks(count, grain);
  const auto chunk = [&](int c) { return Chunk{body, context, c, count * c / n, count * (c + 1) / n}; };
  // A loop inside a loop, or beside one of another thread, runs here alone, in the same chunks.
  if (n <= 1 || state_->busy.test_and_set(std::memory_order_acquire)) {
    for (int c = 0; c < n; ++c) chunk(c).run();
    return;
  }
  for (int c = 1; c < n; ++c) state_->workers[static_cast<std::size_t>(c - 1)]->post(chunk(c));
  state_->share(chunk(0), n);
}

}  // namespace ronde::inline v0
