#include "cifar10/find_cifar10.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include <ronde/core/text.h>
#include <ronde/data/data_directory.h>

#include "files/place_text.h"

namespace ronde::inline v0 {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::vector<std::string> search_path(const std::string& directory) {
  const std::string root = directory.empty() ? default_data_directory() : directory;
  return {root, root + "/cifar-10-batches-bin", root + "/cifar10", root + "/cifar10/cifar-10-batches-bin"};
}

std::vector<std::string> missing_files(const std::string& place) {
  std::vector<std::string> missing;
  for (const char* file : kCifar10Files)
    if (!exists(cat(place, "/", file))) missing.push_back(file);
  return missing;
}

}  // namespace

std::optional<Cifar10Source> find_cifar10(const std::string& directory) {
  if (is_file(directory)) return Cifar10Source{directory, true};
  for (const std::string& place : search_path(directory)) {
    if (missing_files(place).empty()) return Cifar10Source{place};
    const std::string archive = cat(place, "/", kCifar10Archive);
    if (exists(archive)) return Cifar10Source{archive, true};
  }
  return std::nullopt;
}

std::string cifar10_not_found(const std::string& directory) {
  std::string places, incomplete;
  for (const std::string& place : search_path(directory)) {
    places += cat(places.empty() ? "" : ", ", place_text(place));
    const std::vector<std::string> missing = missing_files(place);
    if (missing.size() == kCifar10Files.size()) continue;
    incomplete += cat("; in ", place, " is missing:");
    for (const std::string& file : missing) incomplete += cat(" ", file);
  }
  return cat(
      "data: no CIFAR-10 in ", places, incomplete, "; fetch it with --download, or put ", kCifar10Archive,
      " (the binary version from https://www.cs.toronto.edu/~kriz/cifar.html) as it is, or the six .bin "
      "files in it, into one of these, or name their directory with --data-dir or RONDE_DATA");
}

}  // namespace ronde::inline v0
