/// OwnProcess: whether this is the process that made something. The child of a `fork` has the memory of its
/// parent and none of its threads; what the parent shares with other ranks is not the child's to give up.
#pragma once

#include <atomic>
#include <type_traits>
#include <utility>

#include <pthread.h>

namespace ronde::inline v0 {

class OwnProcess {
 public:
  bool is_here() const { return forks_ == forks(); }

 private:
  /// That led here. A child counts its own: asking the system for its number would take a tenth of the sum of
  /// a few bytes.
  static int forks() {
    static std::atomic<int> count{0};
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++count; });
    static_cast<void>(registered);
    return count.load(std::memory_order_relaxed);
  }

  int forks_ = forks();
};

/// Left in memory for ever: a child must not end what its parent goes on with.
template <class T>
void leak(T&& value) {
  static_cast<void>(new std::remove_cvref_t<T>(std::forward<T>(value)));
}

}  // namespace ronde::inline v0
