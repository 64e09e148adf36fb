#include "common/mnist_data.h"

#include <algorithm>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/core/text.h>
#include <ronde/data/data_directory.h>
#include <ronde/data/download.h>
#include <ronde/data/mnist.h>

#include "common/download_line.h"

namespace ronde::apps {
namespace {

TrainingData share(const Mnist& mnist) {
  return {std::make_shared<InMemoryDataset>(mnist.train), std::make_shared<InMemoryDataset>(mnist.test),
          mnist.description()};
}

}  // namespace

void fetch_mnist(const std::string& directory) {
  if (has_mnist({.directory = directory})) return;
  const std::string root = directory.empty() ? default_data_directory() : directory;
  download_mnist({.directory = root + "/mnist", .progress = show_download});
}

DataSource mnist_source() {
  return {.fetch = fetch_mnist, .load = [](const std::string& directory) -> TrainingData {
            return share(load_mnist({.directory = directory}));
          }};
}

TrainingData load_fashion_mnist(const std::string& directory) {
  // Where a set in MNIST's form lies right in a directory that was asked for, it is meant.
  std::vector<std::string> places{
      cat(directory.empty() ? default_data_directory() : directory, "/fashion-mnist")};
  if (!directory.empty()) places.push_back(directory);
  places.emplace_back("/usr/share/datasets/fashion-mnist");  // Debian's dataset-fashion-mnist
  const auto place = std::find_if(places.begin(), places.end(),
                                  [](const std::string& where) { return has_mnist({.directory = where}); });
  require<IoError>(
      place != places.end(), "data: no Fashion-MNIST in ", places.front(),
      directory.empty() ? "" : cat(", ", directory), " or ", places.back(),
      "; put train-images-idx3-ubyte.gz and its three companions into one of these, or name their "
      "directory with --data-dir");
  const Mnist clothes = load_mnist({.directory = *place});
  require<InputError>(clothes.name != "MNIST", "data: ", clothes.source, ": holds MNIST, not Fashion-MNIST");
  return share(clothes);
}

}  // namespace ronde::apps
