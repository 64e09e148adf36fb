/// Work: a collective that was started.
#pragma once

#include <memory>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// A handle; copies refer to the same operation. The tensors given to the collective must not be read or
/// written before `wait` returned.
class RONDE_API Work {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual bool done() = 0;
    /// Blocks the calling thread; rethrows what went wrong.
    virtual void wait() = 0;
  };

  /// Work that is already done.
  Work() = default;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool done() const { return !state_ || state_->done(); }
  /// Blocks the host until the result is there; an error of the collective is thrown here, on every rank.
  void wait() const {
    if (state_) state_->wait();
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ronde::inline v0
