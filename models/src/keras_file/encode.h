/// encode_file: the bytes of encode_saved_model, where they are in memory once.
#pragma once

#include <ronde/models/saved_model.h>

#include "files/file_buffer.h"

namespace ronde::inline v0 {

/// A model that is moved here is freed on the way, array by array.
FileBuffer encode_file(SavedModel model, SavedLayout layout);

}  // namespace ronde::inline v0
