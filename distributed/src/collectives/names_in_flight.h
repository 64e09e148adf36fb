/// The names of operations that were started and not yet waited for.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "collectives/executor.h"

namespace ronde::inline v0 {

/// A name is taken until somebody learns that its operation is done, by `wait`, `wait_for` or `done`; not
/// just until it is done, so that a second use is an error always and on every rank, or never. An operation
/// whose `Work` nobody keeps frees its name when it is done.
class NamesInFlight {
 public:
  bool contains(const std::string& name);
  void add(const std::string& name, std::weak_ptr<Task> task);

 private:
  std::map<std::string, std::weak_ptr<Task>> tasks_;
};

}  // namespace ronde::inline v0
