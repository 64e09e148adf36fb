/// The state of a run in a model file: group /ronde/run, with the plain values as JSON in one attribute and
/// the tensors of callbacks as numbered datasets.
#pragma once

#include <ronde/models/saved_model.h>

#include "keras_file/hdf5.h"

namespace ronde::inline v0 {

void write_run(hid_t state, const SavedRun& run);
SavedRun read_run(hid_t run_group);

}  // namespace ronde::inline v0
