#include <ronde/data/download.h>

#include "cifar10/find_cifar10.h"
#include "files/download_file.h"

namespace ronde::inline v0 {

void download_cifar10(const DownloadOptions& options) {
  const PinnedFile archive{.name = kCifar10Archive,
                           .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                           .pinned = Pinned::file};
  download_missing({archive}, "cifar10", options,
                   {"https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/",
                    "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/"});
}

}  // namespace ronde::inline v0
