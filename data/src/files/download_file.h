/// Fetching one file whose content is known.
#pragma once

#include <string>

#include <ronde/data/download.h>

namespace ronde::inline v0 {

struct PinnedFile {
  std::string name;
  std::string sha256;  ///< of the decompressed bytes
};

/// Fetches MIRROR/name from the first of options.mirrors that delivers the pinned content, into `directory`.
/// Errors as of download_mnist.
void download_file(const PinnedFile& pinned, const std::string& directory, const DownloadOptions& options);

}  // namespace ronde::inline v0
