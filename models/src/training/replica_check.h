/// ReplicaCheck: whether all ranks still have the same weights and the same optimizer state, bit for bit.
///
/// Each rank hashes its own, 64 bits, and the ranks compare the hashes in an all-reduce of 16 bytes. Only
/// what must be the same is looked at: not the optimizer's state where each rank has a part of it or updates
/// alone (local steps), and moving statistics only at the end of an epoch, when they have been averaged.
#pragma once

#include <cstdint>

#include "state/model_state.h"

namespace ronde::inline v0 {

class ReplicaCheck {
 public:
  /// `every` steps; 0: never.
  ReplicaCheck(Model::State& model, std::int64_t every) : model_(model), every_(every) {}

  /// After an update, `steps` steps into the training. Collective. A CollectiveError with the status
  /// replicas_differ when they do.
  void after_step(std::int64_t steps);
  /// The moving statistics are averaged.
  void after_epoch();

 private:
  enum class Scope { within_epoch, whole };
  void compare(Scope scope);

  Model::State& model_;
  std::int64_t every_;
  bool is_due_ = false;
};

}  // namespace ronde::inline v0
