#include "common/mnist_data.h"

#include <ronde/data/data_directory.h>
#include <ronde/data/download.h>
#include <ronde/data/mnist.h>

#include "common/download_line.h"

namespace ronde::apps {

void fetch_mnist(const std::string& directory) {
  const std::string root = directory.empty() ? default_data_directory() : directory;
  download_mnist({.directory = root + "/mnist", .progress = show_download});
}

DataSource mnist_source() {
  return {.fetch = fetch_mnist, .load = [](const std::string& directory) -> TrainingData {
            Mnist mnist = load_mnist({.directory = directory});
            const std::string description = mnist.description();
            return {std::move(mnist.train), std::move(mnist.test), description};
          }};
}

}  // namespace ronde::apps
