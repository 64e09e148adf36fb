#include <ronde/core/build_info.h>

namespace ronde::inline v0 {

std::string library_version() {
  return RONDE_LIBRARY_VERSION;
}

}  // namespace ronde::inline v0
