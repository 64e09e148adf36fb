#include <filesystem>
#include <system_error>

#include <ronde/core/error.h>
#include <ronde/data/data_directory.h>
#include <ronde/data/download.h>

#include "files/download_file.h"
#include "mnist/mnist_files.h"

namespace ronde::inline v0 {
namespace {

std::vector<std::string> known_mirrors() {
  return {"https://ossci-datasets.s3.amazonaws.com/mnist/",
          "https://storage.googleapis.com/cvdf-datasets/mnist/", "http://yann.lecun.com/exdb/mnist/"};
}

}  // namespace

void download_mnist(const DownloadOptions& options) {
  const std::string directory =
      options.directory.empty() ? default_data_directory() + "/mnist" : options.directory;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  require<IoError>(!error, "data: ", directory, ": cannot be made: ", error.message());
  DownloadOptions each = options;
  if (each.mirrors.empty()) each.mirrors = known_mirrors();
  const KnownMnist& mnist = known_mnist_sets().front();
  for (std::size_t part = 0; part < kMnistParts.size(); ++part) {
    const std::string name = std::string(kMnistParts[part]) + ".gz";
    if (!std::filesystem::exists(directory + "/" + name))
      download_file({name, mnist.sha256[part]}, directory, each);
  }
}

}  // namespace ronde::inline v0
