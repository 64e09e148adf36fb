#include <hdf5.h>

#include <ronde/core/text.h>
#include <ronde/models/build_info.h>

namespace ronde::inline v0 {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return cat(major, ".", minor, ".", release);
}

}  // namespace ronde::inline v0
