#include "common/uploads.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <ronde/core/counted.h>

namespace ronde::apps {
namespace {

constexpr double kHurriedWait = 10.0;  // seconds, of those that Slurm and Kubernetes grant

void offer_if_there(Uploader& uploader, const std::string& path) {
  std::error_code ignored;
  if (!path.empty() && std::filesystem::is_regular_file(path, ignored)) uploader.offer(path);
}

void offer_all_below(Uploader& uploader, const std::string& directory) {
  if (directory.empty()) return;
  std::error_code ignored;  // what cannot be looked at is not offered
  std::filesystem::recursive_directory_iterator entry(directory, ignored);
  for (; !ignored && entry != end(entry); entry.increment(ignored))
    offer_if_there(uploader, entry->path().string());
}

double patience(const TrainOptions& options, int status) {
  const double wanted = status == 0 ? options.upload_timeout : std::min(kHurriedWait, options.upload_timeout);
  return options.hang_timeout > 0.0 ? std::min(wanted, options.hang_timeout / 2.0) : wanted;
}

}  // namespace

std::unique_ptr<Uploader> make_uploader(Communicator& world, const TrainOptions& options) {
  if (options.upload.empty()) return nullptr;
  std::unique_ptr<Uploader> uploader;
  collectively(world, [&] {
    uploader = std::make_unique<Uploader>(UploadOptions{
        .target = options.upload,
        .root = options.dir.empty() ? "." : options.dir,
        .timeout = options.upload_timeout,
        .warn = [](const std::string& problem) {
          std::fprintf(stderr, "ronde: warning: %s; training goes on, it is tried again\n", problem.c_str());
        }});
    if (world.rank() == 0) uploader->prepare();
  });
  return uploader;
}

void offer_results(Uploader& uploader, const TrainOptions& options, const RunFiles& files) {
  offer_all_below(uploader, files.logs);
  for (const std::string& path : files.metrics) offer_if_there(uploader, path);
  for (const std::string& path : {options.timeline, files.saved_model, files.report})
    offer_if_there(uploader, path);
}

void end_uploads(Uploader& uploader, const TrainOptions& options, int status) {
  const UploadReport report = uploader.finish(patience(options, status));
  if (report.missing.empty()) {
    if (report.uploaded > 0 && options.verbosity() != 0)
      std::printf("Uploaded: %s\n", to_string(counted(report.uploaded, "file")).c_str());
    return;
  }
  const std::string why = report.problem.empty() ? "" : cat(" (", report.problem, ')');
  std::fprintf(stderr, "ronde: warning: not uploaded: %s%s\n", joined(report.missing).c_str(), why.c_str());
}

}  // namespace ronde::apps
