#include <ronde/data/data_directory.h>

#include <cstdlib>

namespace ronde::inline v0 {
namespace {

/// Unset and empty mean the same.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string default_data_directory() {
  if (const std::string chosen = environment("RONDE_DATA"); !chosen.empty()) return chosen;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache + "/ronde";
  return environment("HOME") + "/.cache/ronde";
}

}  // namespace ronde::inline v0
