/// The last line of a file written by Ronde: "\nronde-sha256 <64 hex digits>\n", over all bytes before it.
/// HDF5 ignores what lies behind its data. The line is checked before libhdf5 sees the file, because that
/// library can be crashed by damaged bytes. A file without it (from Keras, or edited by another program,
/// which cuts it off) rests on HDF5's own checksums.
#pragma once

#include <string>
#include <string_view>

namespace ronde::inline v0 {

void append_trailer(std::string& bytes);
/// The bytes before the trailer, or all when there is none. InputError when they are not those that were
/// written.
std::string_view verify_trailer(std::string_view bytes);

}  // namespace ronde::inline v0
