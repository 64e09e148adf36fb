/// HDF5 -> SavedModel, in this process. See limited_reader.h for files that nobody vouches for.
#pragma once

#include <string_view>

#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

namespace hdf5 {
class Handle;
}

/// `image`: the HDF5 data of a file, without what Ronde appends to it. InputError, hdf5::Hdf5Error.
SavedModel decode_hdf5(std::string_view image);
/// The same of an open file.
SavedModel decode_hdf5(const hdf5::Handle& file);

}  // namespace ronde::inline v0
