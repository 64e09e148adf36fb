#include "common/download_line.h"

#include <unistd.h>

#include <cstdio>

namespace ronde::apps {

void show_download(const DownloadProgress& progress) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const bool is_whole = progress.total > 0 && progress.bytes >= progress.total;
  if (!is_terminal && !is_whole) return;
  const double megabytes = static_cast<double>(progress.bytes) / 1e6;
  const int percent = progress.total > 0 ? static_cast<int>(100 * progress.bytes / progress.total) : 0;
  std::fprintf(stderr, "%s%s  %5.1f MB  %3d %%%s", is_terminal ? "\r" : "", progress.file.c_str(), megabytes,
               percent, is_terminal && !is_whole ? "" : "\n");
}

}  // namespace ronde::apps
