#include "common/cifar10_data.h"

#include <ronde/data/cifar10.h>
#include <ronde/data/data_directory.h>
#include <ronde/data/download.h>

#include "common/download_line.h"

namespace ronde::apps {

void fetch_cifar10(const std::string& directory) {
  if (has_cifar10({.directory = directory})) return;
  const std::string root = directory.empty() ? default_data_directory() : directory;
  download_cifar10({.directory = root + "/cifar10", .progress = show_download});
}

DataSource cifar10_source() {
  return {.fetch = fetch_cifar10, .load = [](const std::string& directory) -> TrainingData {
            const Cifar10OnDisk cifar = open_cifar10({.directory = directory});
            return {cifar.train, cifar.test, cifar.description()};
          }};
}

}  // namespace ronde::apps
