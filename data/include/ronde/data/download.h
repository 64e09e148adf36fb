/// Fetches data sets that are missing, pinned by SHA-256.
///
///     const auto draw = [](const DownloadProgress& p) { draw_bar(p.file, p.bytes, p.total); };
///     if (!has_mnist()) download_mnist({.progress = draw});
///     Mnist mnist = load_mnist();
///
/// On several ranks of a node, call it on one of them. Thread safety: calls on different directories are
/// independent.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

struct DownloadProgress {
  std::string file;
  std::int64_t bytes = 0;  ///< received so far
  std::int64_t total = 0;  ///< 0: not known
};

struct DownloadOptions {
  /// Gets the files; made if missing. Empty: default_data_directory()/mnist or /cifar10.
  std::string directory = {};
  std::function<void(const DownloadProgress&)> progress = {};  ///< as bytes arrive, the last ones too
  std::vector<std::string> mirrors = {};  ///< base URLs, tried in order; empty: the well-known ones
  int connect_timeout_s = 3;              ///< per mirror
  int stall_timeout_s = 10;               ///< gives a mirror up when no data comes for so long
};

/// Fetches those of MNIST's four .gz files that are not there; what is there is left as it is. A file appears
/// under its name only when it is whole, its decompressed bytes have the pinned SHA-256, and it is on disk;
/// otherwise nothing is left behind. Errors: IoError when no mirror delivers or the directory cannot be
/// written, InputError, with both hashes, when a mirror's file is not the pinned one.
RONDE_API void download_mnist(const DownloadOptions& options = {});

/// The same for cifar-10-binary.tar.gz (162 MiB), where the pin is the archive's own SHA-256. `load_cifar10`
/// reads it as it is.
RONDE_API void download_cifar10(const DownloadOptions& options = {});

}  // namespace ronde::inline v0
