#include "mpi/library_name.h"

#include <sstream>

namespace ronde::inline v0 {

std::string library_name(const std::string& version) {
  std::istringstream words(version.substr(0, version.find_first_of(",\n")));
  std::string name;
  for (std::string word; words >> word;)
    if (word != "Version" && word != "Version:" && word != ":") name += (name.empty() ? "" : " ") + word;
  return name;
}

}  // namespace ronde::inline v0
