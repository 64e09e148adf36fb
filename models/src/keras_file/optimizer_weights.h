/// Keras' own state of an optimizer in a file: /optimizer_weights of an .h5, /optimizer/vars of a
/// .weights.h5. What the arrays mean is decided by their order: weights/keras_optimizer.h.
#pragma once

#include <ronde/models/saved_model.h>

#include "keras_file/hdf5.h"

namespace ronde::inline v0 {

std::vector<SavedWeight> read_optimizer_weights(hid_t file);
/// Where a reader of this layout looks for them; nothing when there are none.
void write_optimizer_weights(hid_t file, std::vector<SavedWeight> weights, SavedLayout layout);

}  // namespace ronde::inline v0
