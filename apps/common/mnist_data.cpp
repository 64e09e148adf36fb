#include "common/mnist_data.h"

#include <unistd.h>

#include <cstdio>
#include <optional>

#include <ronde/data/data_directory.h>
#include <ronde/data/download.h>

#include "common/same_options.h"

namespace ronde::apps {
namespace {

// A line that overwrites itself on a terminal; elsewhere one line for each finished file.
void show_progress(const DownloadProgress& progress) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const bool is_whole = progress.total > 0 && progress.bytes >= progress.total;
  if (!is_terminal && !is_whole) return;
  const double megabytes = static_cast<double>(progress.bytes) / 1e6;
  const int percent = progress.total > 0 ? static_cast<int>(100 * progress.bytes / progress.total) : 0;
  std::fprintf(stderr, "%s%s  %5.1f MB  %3d %%%s", is_terminal ? "\r" : "", progress.file.c_str(), megabytes,
               percent, is_terminal && !is_whole ? "" : "\n");
}

std::string identity(const Mnist& mnist) {
  return cat(mnist.name.empty() ? "an unknown set" : mnist.name, " with ", mnist.train.size(), " + ",
             mnist.test.size(), " images");
}

}  // namespace

void fetch_mnist(const std::string& directory) {
  const std::string root = directory.empty() ? default_data_directory() : directory;
  download_mnist({.directory = root + "/mnist", .progress = show_progress});
}

Mnist load_mnist_data(Communicator& world, const TrainOptions& options) {
  if (options.download)
    collectively(world, [&] {
      if (world.local_rank() == 0) fetch_mnist(options.data_dir);
    });
  std::optional<Mnist> mnist;
  collectively(world, [&] { mnist.emplace(load_mnist({.directory = options.data_dir})); });
  require_same(world, "the data set", identity(*mnist), ExitStatus::bad_input);
  return std::move(*mnist);
}

}  // namespace ronde::apps
