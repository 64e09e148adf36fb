/// ThreadPool: a fixed set of threads that share loops.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// While it lives, loops that this thread starts are cut into chunks as by a pool of `size` threads, whatever
/// the pool's real size: results that depend on the chunks do not depend on the number of threads then.
class RONDE_API FixedChunks {
 public:
  explicit FixedChunks(int size);
  ~FixedChunks();
  FixedChunks(const FixedChunks&) = delete;
  FixedChunks& operator=(const FixedChunks&) = delete;

 private:
  int before_;
};

/// While it lives, loops that this thread starts run on at most `most` threads of a pool, this one included.
class RONDE_API FewerThreads {
 public:
  explicit FewerThreads(int most);
  ~FewerThreads();
  FewerThreads(const FewerThreads&) = delete;
  FewerThreads& operator=(const FewerThreads&) = delete;

 private:
  int before_;
};

/// Splits index ranges over threads. The calling thread works too, so a pool of one starts no thread.
/// Thread safety: `parallel_for` may be called from several threads and from inside a task; while the workers
/// are busy with another loop, the caller runs its own loop alone.
class RONDE_API ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Threads that a loop of the calling thread may use: all of them, but for FewerThreads.
  int size() const;
  /// Restarts the pool with another number of threads. No loop may be running, unless it has so many already.
  void resize(int threads);

  /// Calls `body(begin, end)` on disjoint chunks that cover [0, count), at most one per thread and each at
  /// least `grain` long. Chunk k is the same for the same (count, grain, size()); see FixedChunks. The first
  /// exception is rethrown. Within them arithmetic takes denormal numbers for 0 and makes none: they would
  /// cost x86 processors a hundred times as much as others.
  template <class F>
  void parallel_for(std::int64_t count, std::int64_t grain, F&& body) {
    run_chunks(
        count, grain,
        [](void* f, int, std::int64_t b, std::int64_t e) {
          (*static_cast<std::remove_reference_t<F>*>(f))(b, e);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }
  /// The same; `body(chunk, begin, end)` is told its number, 0 <= chunk < chunks(count, grain).
  template <class F>
  void parallel_chunks(std::int64_t count, std::int64_t grain, F&& body) {
    run_chunks(
        count, grain,
        [](void* f, int c, std::int64_t b, std::int64_t e) {
          (*static_cast<std::remove_reference_t<F>*>(f))(c, b, e);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }
  int chunks(std::int64_t count, std::int64_t grain) const;

 private:
  using Body = void (*)(void* context, int chunk, std::int64_t begin, std::int64_t end);
  void run_chunks(std::int64_t count, std::int64_t grain, Body body, void* context);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::inline v0
