/// Fetching one file whose content is known.
#pragma once

#include <string>
#include <vector>

#include <ronde/data/download.h>

namespace ronde::inline v0 {

enum class Pinned {
  content,  ///< the decompressed bytes: it does not matter who compressed them
  file      ///< the file as it is
};

struct PinnedFile {
  std::string name;
  std::string sha256;
  Pinned pinned = Pinned::content;
};

/// Fetches MIRROR/name from the first of options.mirrors that delivers the pinned content, into `directory`.
/// Errors as of download_mnist.
void download_file(const PinnedFile& pinned, const std::string& directory, const DownloadOptions& options);

/// Fetches those of `files` that are not in options.directory, which is made if missing. The defaults of the
/// options are default_data_directory()/`name` and `mirrors`.
void download_missing(const std::vector<PinnedFile>& files, const std::string& name, DownloadOptions options,
                      const std::vector<std::string>& mirrors);

}  // namespace ronde::inline v0
