/// OperationLabel: what the collectives are for that this thread starts while it lives, for the flight
/// recorder.
#pragma once

#include <utility>

namespace ronde::inline v0 {

class OperationLabel {
 public:
  /// `text` lives for ever: a literal, or what `trace_name` returned.
  explicit OperationLabel(const char* text) : before_(std::exchange(current_, text)) {}
  ~OperationLabel() { current_ = before_; }
  OperationLabel(const OperationLabel&) = delete;
  OperationLabel& operator=(const OperationLabel&) = delete;
  /// nullptr: there is none.
  static const char* current() { return current_; }

 private:
  const char* before_;
  static inline thread_local const char* current_ = nullptr;
};

}  // namespace ronde::inline v0
