/// NonFiniteRecovery: how a `fit` goes on after an update that would have made weights NaN or infinite, and
/// was refused (NonFiniteGuard). See non_finite.h.
#pragma once

#include <cstdint>
#include <string>

#include "messages/warn.h"
#include "state/model_state.h"
#include "training/checkpointer.h"

namespace ronde::inline v0 {

class NonFiniteRecovery {
 public:
  NonFiniteRecovery(Model& model, Model::State& state, Checkpointer& checkpointer, NonFiniteOptions options,
                    Warn warn);

  /// For a run that goes on with a file, behind so many times.
  void go_on(const std::string& file, std::int64_t times);
  /// An update was made.
  void note_update();
  /// What `found` says, first on `rank`, was refused: leaves it out, goes back to a file, or throws.
  /// Collective.
  void recover(const std::string& found, int rank);
  /// Steps skipped in a row, or returns since a file was written.
  std::int64_t times() const { return times_; }

 private:
  /// To the weights and the optimizer of an earlier file; says which.
  std::string roll_back(const std::string& found);

  Model& model_;
  Model::State& state_;
  Checkpointer& checkpointer_;
  NonFiniteOptions options_;
  Warn warn_;
  std::int64_t times_ = 0;
  std::int64_t files_at_rollback_ = 0;  // written before the last return
  std::string source_;                  // the file that this run goes on with; empty: none
};

}  // namespace ronde::inline v0
