/// The weights of a file in Keras 3's layout, .weights.h5: a tree of groups that mirrors the net, with the
/// weights of each layer in PATH/vars/0, PATH/vars/1, ...
#pragma once

#include <ronde/models/saved_model.h>

#include "keras_file/hdf5.h"

namespace ronde::inline v0 {

bool has_keras3_layers(hid_t file);
/// Layers without weights are left out. Their order is HDF5's, not the net's.
void read_keras3_layers(hid_t file, SavedModel& model);
/// Takes the layers out of the model.
void write_keras3_layers(hid_t file, SavedModel& model);

}  // namespace ronde::inline v0
