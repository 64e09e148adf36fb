#include "common/cifar10_data.h"

#include <ronde/data/cifar10.h>
#include <ronde/data/data_directory.h>
#include <ronde/data/download.h>

#include "common/download_line.h"

namespace ronde::apps {

void fetch_cifar10(const std::string& directory) {
  const std::string root = directory.empty() ? default_data_directory() : directory;
  download_cifar10({.directory = root + "/cifar10", .progress = show_download});
}

DataSource cifar10_source() {
  return {.fetch = fetch_cifar10, .load = [](const std::string& directory) -> TrainingData {
            Cifar10 cifar = load_cifar10({.directory = directory});
            const std::string description = cifar.description();
            return {std::move(cifar.train), std::move(cifar.test), description};
          }};
}

}  // namespace ronde::apps
