#include "training/resume.h"

#include <map>
#include <utility>

#include "messages/warn.h"

namespace ronde::inline v0 {

namespace {

/// The next of a name is the last.
using StatesByName = std::map<std::string, std::vector<const SavedCallback*>>;

StatesByName states_by_name(const std::vector<SavedCallback>& saved) {
  StatesByName states;
  for (auto one = saved.rbegin(); one != saved.rend(); ++one) states[one->name].push_back(&*one);
  return states;
}

}  // namespace

std::vector<SavedCallback> save_callbacks(const std::vector<Callback*>& callbacks) {
  std::vector<SavedCallback> saved;
  for (const Callback* callback : callbacks) {
    const std::string name = callback->state_name();
    if (name.empty()) continue;
    CallbackState state = callback->state();
    saved.push_back({name, std::move(state.values), std::move(state.tensors)});
  }
  return saved;
}

void require_same_run(const std::vector<Callback*>& callbacks, const std::vector<SavedCallback>& saved) {
  StatesByName left = states_by_name(saved);
  for (const Callback* callback : callbacks) {
    std::vector<const SavedCallback*>& states = left[callback->state_name()];
    if (states.empty()) continue;
    callback->require_same_run({states.back()->values, states.back()->tensors});
    states.pop_back();
  }
}

std::vector<std::string> restore_callbacks(const std::vector<Callback*>& callbacks,
                                           const std::vector<SavedCallback>& saved) {
  StatesByName left = states_by_name(saved);
  std::vector<std::string> lines;
  for (Callback* callback : callbacks) {
    const std::string name = callback->state_name();
    if (name.empty()) continue;
    std::vector<const SavedCallback*>& states = left[name];
    if (states.empty()) {
      lines.push_back(cat("callback ", name, " was not in the run to go on with: it begins anew"));
    } else {
      callback->restore({states.back()->values, states.back()->tensors});
      states.pop_back();
    }
  }
  for (const auto& [name, states] : left)
    if (!states.empty())
      lines.push_back(cat("the run to go on with had a callback ", name, ", this one has not"));
  return lines;
}

void return_to_trained_weights(Model::State& model) {
  if (model.optimizer->optimizer().is_averaged()) model.optimizer->swap_average();
}

std::string find_backup(Communicator& communicator, const FitOptions& options) {
  std::string path;
  collectively(communicator, [&] {
    if (communicator.rank() != 0) return;
    for (const Callback* callback : options.callbacks) {
      if (path.empty())
        path = callback->resume_from([&](const std::string& line) { warn_or_print(options.warn, line); });
    }
  });
  return broadcast_string(communicator, path);
}

}  // namespace ronde::inline v0
