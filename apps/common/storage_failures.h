/// StorageFailures: what could not be written once a training had ended. It is said at the very end, so that
/// no result is lost for a full disk.
#pragma once

#include <optional>

#include <ronde/distributed/communicator.h>

namespace ronde::apps {

class StorageFailures {
 public:
  /// Collective, as `write` is. An I/O error of all ranks is kept; all others are thrown.
  template <class F>
  void attempt(F&& write) {
    try {
      write();
    } catch (const CollectiveError& error) {
      if (error.status() != ExitStatus::io) throw;
      add(error);
    }
  }
  /// The same on all ranks.
  void add(const CollectiveError& error) {
    if (!first_) first_ = error;
  }
  bool any() const { return first_.has_value(); }
  /// Throws the first of them, if there is one.
  void raise() const {
    if (first_) throw CollectiveError(*first_);
  }

 private:
  std::optional<CollectiveError> first_;
};

}  // namespace ronde::apps
