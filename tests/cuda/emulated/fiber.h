/// Fiber: a stack of its own on a thread of the host.
#pragma once

#include <cstddef>
#include <memory>

namespace ronde::test {

class Fiber {
 public:
  static constexpr std::size_t kStack = std::size_t{256} << 10;  ///< bytes

  /// `work` begins with the first `resume` and must not return.
  explicit Fiber(void (*work)());
  ~Fiber();

  /// Goes on with the work until that calls `pause`. Always on the same thread.
  void resume();
  void pause();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::test
