#include <ronde/data/file_ending.h>

#include <ronde/core/text.h>

namespace ronde::inline v0 {

bool has_ending(std::string_view path, std::string_view ending) {
  return path.size() >= ending.size() && lower_case(path.substr(path.size() - ending.size())) == ending;
}

}  // namespace ronde::inline v0
