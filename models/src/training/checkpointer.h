/// Checkpointer: carries out what callbacks order at save points, for one `fit`. See SavePoint.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ronde/models/save_point.h>

#include "files/checkpoint_writer.h"
#include "model_state.h"

namespace ronde::inline v0 {

class Checkpointer {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// `warn` is told, on rank 0, of files that could not be written.
  Checkpointer(Model::State& model, Warn warn) : model_(model), warn_(std::move(warn)) {}

  /// Collective. Takes a snapshot of the model and `run` for the orders of a save point, if it has any, and
  /// starts writing. Throws what went wrong with the orders before, unless the storage is to blame.
  void carry_out(const SavePoint& point, const std::function<SavedRun()>& run);
  /// Collective. Settles the orders in flight, if they are done.
  void look_after() { settle(false); }
  /// Collective. Waits for the orders in flight and settles them.
  void finish();

 private:
  void settle(bool wait);
  std::vector<WrittenFile> results(bool wait, bool& done);

  Model::State& model_;
  Warn warn_;
  CheckpointWriter writer_;         // rank 0's
  std::vector<SaveOrder> pending_;  // the same on all ranks
  bool last_failed_ = false;
};

}  // namespace ronde::inline v0
