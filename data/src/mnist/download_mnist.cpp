#include <ronde/data/download.h>

#include "files/download_file.h"
#include "mnist/mnist_files.h"

namespace ronde::inline v0 {

void download_mnist(const DownloadOptions& options) {
  const KnownMnist& mnist = known_mnist_sets().front();
  std::vector<PinnedFile> files;
  for (std::size_t part = 0; part < kMnistParts.size(); ++part)
    files.push_back({std::string(kMnistParts[part]) + ".gz", mnist.sha256[part]});
  download_missing(
      files, "mnist", options,
      {"https://ossci-datasets.s3.amazonaws.com/mnist/",
       "https://storage.googleapis.com/cvdf-datasets/mnist/", "http://yann.lecun.com/exdb/mnist/"});
}

}  // namespace ronde::inline v0
