#include "mnist/find_mnist.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <ronde/core/text.h>
#include <ronde/data/data_directory.h>

#include "files/place_text.h"
#include "mnist/mnist_files.h"

namespace ronde::inline v0 {
namespace {

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::vector<std::string> mnist_places(const std::string& directory) {
  const std::string root = directory.empty() ? default_data_directory() : directory;
  std::vector<std::string> places{root, root + "/mnist"};
  const char* home = std::getenv("HOME");
  const char* chosen = std::getenv("RONDE_DATA");
  if (directory.empty() && home && !(chosen && *chosen))
    places.push_back(std::string(home) + "/.keras/datasets");
  return places;
}

/// The path of a part in a directory, or "" when it is not there.
std::string find_part(const std::string& directory, const std::string& name) {
  std::string dotted = name;
  dotted[dotted.rfind("-idx")] = '.';
  for (const std::string& candidate : {name, name + ".gz", dotted, dotted + ".gz"})
    if (is_there(directory + "/" + candidate)) return directory + "/" + candidate;
  return "";
}

std::array<std::string, 4> find_parts(const std::string& directory) {
  std::array<std::string, 4> files;
  for (std::size_t part = 0; part < files.size(); ++part)
    files[part] = find_part(directory, kMnistParts[part]);
  return files;
}

}  // namespace

std::optional<MnistSource> find_mnist(const std::string& directory) {
  for (const std::string& place : mnist_places(directory)) {
    const auto files = find_parts(place);
    if (std::find(files.begin(), files.end(), "") == files.end()) return MnistSource{place, files};
    const std::string archive = place + "/mnist.npz";
    if (is_there(archive)) return MnistSource{archive, {archive, archive, archive, archive}, true};
  }
  return std::nullopt;
}

std::string mnist_not_found(const std::string& directory) {
  std::string places, incomplete;
  for (const std::string& place : mnist_places(directory)) {
    places += cat(places.empty() ? "" : ", ", place_text(place));
    const auto files = find_parts(place);
    std::string missing;
    for (std::size_t part = 0; part < files.size(); ++part)
      if (files[part].empty()) missing += cat(" ", kMnistParts[part], ".gz");
    const bool some = std::any_of(files.begin(), files.end(), [](const auto& file) { return !file.empty(); });
    if (some) incomplete += cat("; in ", place, " is missing:", missing);
  }
  return cat("data: no MNIST in ", places, incomplete, "; fetch it with --download, or put ", kMnistParts[0],
             ".gz and its three companions, or mnist.npz, into one of these, or name their directory with "
             "--data-dir or RONDE_DATA");
}

}  // namespace ronde::inline v0
