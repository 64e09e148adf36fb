/// Work: a collective that was started. Pending<T>: one that makes a value.
///
///     const Work sum = world.allreduce(tensor);
///     ...                                          // the ranks' data move meanwhile
///     sum.wait();
///     Tensor rows = world.allgather(mine).wait();  // a Pending<Tensor>
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// A handle; copies refer to the same operation. The tensors given to the collective must not be read or
/// written before `wait` returned. What went wrong is thrown by `wait`, so wait for every operation.
class RONDE_API Work {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual bool done() = 0;
    /// Blocks the calling thread; rethrows what went wrong.
    virtual void wait() = 0;
    /// Blocks for at most that long; whether it is done. Throws nothing.
    virtual bool wait_for(double seconds) = 0;
  };

  /// Work that is already done.
  Work() = default;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool done() const { return !state_ || state_->done(); }
  /// Blocks the host until the result is there; an error of the collective is thrown here, on every rank.
  void wait() const {
    if (state_) state_->wait();
  }
  /// Whether it is done within so many seconds. Throws nothing: `wait` does, for what is done too.
  bool wait_for(double seconds) const { return !state_ || state_->wait_for(seconds); }

 private:
  std::shared_ptr<State> state_;
};

/// Work whose result is a value that `wait` returns. A handle as well.
template <class T>
class Pending {
 public:
  Pending(Work work, std::function<T()> result) : work_(std::move(work)), result_(std::move(result)) {}

  bool done() const { return work_.done(); }
  bool wait_for(double seconds) const { return work_.wait_for(seconds); }
  T wait() const {
    work_.wait();
    return result_();
  }
  /// The same operation, with f(result) as its result.
  template <class F>
  auto map(F f) const -> Pending<decltype(f(std::declval<T>()))> {
    return {work_, [result = result_, f = std::move(f)] { return f(result()); }};
  }

 private:
  Work work_;
  std::function<T()> result_;
};

}  // namespace ronde::inline v0
