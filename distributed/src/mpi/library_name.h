/// The name of an MPI library, as users know it.
#pragma once

#include <string>

namespace ronde::inline v0 {

/// "Open MPI v4.1.4", "MPICH 4.0.2": the first line of what MPI_Get_library_version says, up to a comma and
/// without the word "Version". Open MPI puts all on one line; MPICH and its family take a line for each fact.
std::string library_name(const std::string& version);

}  // namespace ronde::inline v0
