/// Checkpointer: carries out what callbacks order at save points, for one `fit`. See SavePoint.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ronde/models/save_point.h>

#include "checkpoints/checkpoint_writer.h"
#include "messages/warn.h"
#include "state/model_state.h"

namespace ronde::inline v0 {

class Checkpointer {
 public:
  /// `warn` is told, on rank 0, of files that could not be written.
  Checkpointer(Model::State& model, Warn warn) : model_(model), warn_(std::move(warn)) {}

  /// Collective. Takes a snapshot of the model and `run` for the orders of a save point, if it has any, and
  /// starts writing. Throws what went wrong with the orders before, unless the storage is to blame.
  void carry_out(const SavePoint& point, const std::function<SavedRun()>& run);
  /// Collective. Settles the orders in flight, if they are done.
  void look_after() { settle(Wait::no); }
  /// Collective, once the training has ended. Waits for the orders in flight and settles them.
  void finish();
  /// The pause of this rank and the writing of rank 0; 0: nothing was saved yet.
  double last_save_seconds() const { return last_save_seconds_; }
  /// Collective. Whole models that were written, the last first; the same on all ranks. Waits for what is
  /// being written.
  std::vector<std::string> written();
  /// The path of the last order, where it could not be written; else empty. The same on all ranks as far as
  /// their orders are.
  const std::string& unwritten() const { return unwritten_; }
  /// How many were, in all.
  std::int64_t written_count() const { return written_count_; }

 private:
  enum class Wait { no, yes, at_the_end };
  void settle(Wait wait);
  void remember(const SaveOrder& order);
  std::vector<WrittenFile> results(bool wait, bool& done);

  Model::State& model_;
  Warn warn_;
  CheckpointWriter writer_;         // rank 0's
  std::vector<SaveOrder> pending_;  // the same on all ranks
  std::vector<std::string> written_;
  std::int64_t written_count_ = 0;
  bool has_written_ = false;  // some file
  std::string unwritten_;
  double last_pause_ = 0.0, last_save_seconds_ = 0.0;
};

}  // namespace ronde::inline v0
