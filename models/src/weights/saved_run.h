/// The state of a run <-> one tree of plain values and a list of tensors, for files and for broadcasts.
#pragma once

#include <vector>

#include <ronde/distributed/communicator.h>
#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

struct PackedRun {
  ConfigValue tree;
  std::vector<Tensor> tensors;  ///< those of the callbacks, in order; their names and shapes are in the tree
};

/// The tensors are shared, not copied. Numbers that JSON has not (NaN, infinities) are written as dicts.
PackedRun pack_run(const SavedRun& run);
/// InputError when the tree is none that pack_run makes. The callbacks' tensors are left undefined: they go,
/// in order, to `tensors_of`.
SavedRun unpack_run(const ConfigValue& tree);
/// Every tensor of the callbacks, in the order of PackedRun.
std::vector<SavedWeight*> tensors_of(SavedRun& run);

/// Everybody gets rank 0's. Collective.
void broadcast_run(Communicator& communicator, std::optional<SavedRun>& run);

}  // namespace ronde::inline v0
