#include "common/output_directories.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <ronde/core/error.h>

namespace ronde::apps {
namespace {

void prepare(const std::string& option, const std::filesystem::path& directory) {
  const std::filesystem::path target = directory.empty() ? "." : directory;
  std::error_code error;
  std::filesystem::create_directories(target, error);
  if (!error && !std::filesystem::is_directory(target, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(target.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  require<IoError>(!error, "cannot write in ", target.string(), ": ", error.message(), ": give another ",
                   option);
}

// The directory of a file, without a part that is still to be filled in, as in `{epoch}/model.h5`.
std::filesystem::path directory_of(const std::string& file) {
  return std::filesystem::path(file.substr(0, file.find('{'))).parent_path();
}

}  // namespace

void prepare_output_directories(Communicator& world, const TrainOptions& options, bool writes_checkpoints) {
  collectively(world, [&] {
    if (world.rank() != 0) return;
    if (writes_checkpoints || !options.dir.empty()) prepare("--dir", options.dir);
    if (!options.checkpoint.empty())
      prepare("--checkpoint", directory_of(options.path_in_dir(options.checkpoint)));
    if (!options.log_dir.empty()) prepare("--log-dir", options.log_dir);
    if (!options.metrics_json.empty()) prepare("--metrics-json", directory_of(options.metrics_json));
  });
}

}  // namespace ronde::apps
