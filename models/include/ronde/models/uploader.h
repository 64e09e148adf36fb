/// Uploader: copies the files of a run to another place while it goes on: checkpoints as soon as they are
/// safe on this machine's disk, and whatever else is offered.
///
///     Uploader uploader({.target = "aws s3 cp {file} s3://bucket/run7/{name}", .root = "out"});
///     model.fit(train, {.callbacks = {&checkpoints, &uploader}});
///     uploader.offer("out/report.html");
///     const UploadReport report = uploader.finish(60.0);
///
/// Training never waits for it and never fails because of it. One file travels at a time, the newest first;
/// what fails is tried again after a pause that grows, until there is a newer file of that name. Files that
/// were deleted meanwhile are passed over, and so is the oldest one where too many wait.
///
/// A command is no shell's: it is cut into words, with '...' and "..." around blanks, and only then {file}
/// (the absolute path) and {name} (the path below `root`) are filled in, so no file name can become a command
/// or an option. It runs in a process group of its own, without this process's files, and is killed at the
/// timeout.
///
/// Ownership: shares its state with its thread, which a file system that hangs may outlive. Thread safety:
/// offer and finish may be called from any thread. All ranks may have one; only rank 0's gets files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct UploadOptions {
  std::string target =
      {};                  ///< a command with {file} in it, else a directory, which may be on a mounted store
  std::string root = {};   ///< names of files begin below it; those of others are their last part
  double timeout = 300.0;  ///< seconds for one try of a command
  double first_pause = 1.0;  ///< seconds until a file is tried again; doubles, up to 60
  std::size_t most_waiting = 16;
  /// Told, on the uploader's thread, when uploads begin to fail.
  std::function<void(const std::string& problem)> warn = {};
};

struct UploadReport {
  std::int64_t uploaded = 0;
  std::int64_t passed_over = 0;      ///< deleted, or too many waited
  std::vector<std::string> missing;  ///< offered, and not uploaded, the oldest first
  std::string problem;               ///< why, of the last try that failed
};

class RONDE_API Uploader : public Callback {
 public:
  /// UsageError for a command that cannot be one.
  explicit Uploader(UploadOptions options);
  /// Gives up what is not uploaded.
  ~Uploader() override;
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  /// On rank 0, before any work: makes the directory and tries it, or looks for the program. IoError.
  void prepare() const;
  /// A file that is whole. A newer one of the same path takes the place of one that waits.
  void offer(const std::string& path);
  /// Waits until all is uploaded, for at most so long; then nothing is tried any more.
  UploadReport finish(double seconds);

  void on_save_point(SavePoint& point) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ronde::inline v0
