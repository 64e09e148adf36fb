#include "collectives/names_in_flight.h"

namespace ronde::inline v0 {
namespace {

bool is_over(const std::weak_ptr<Task>& task) {
  const std::shared_ptr<Task> alive = task.lock();
  return !alive || alive->is_observed();
}

}  // namespace

bool NamesInFlight::contains(const std::string& name) {
  const auto found = tasks_.find(name);
  return found != tasks_.end() && !is_over(found->second);
}

void NamesInFlight::add(const std::string& name, std::weak_ptr<Task> task) {
  std::erase_if(tasks_, [](const auto& entry) { return is_over(entry.second); });
  tasks_[name] = std::move(task);
}

}  // namespace ronde::inline v0
