/// latest_checkpoint: the file from which an interrupted training should go on.
///
///     const LatestCheckpoint latest = latest_checkpoint("results/checkpoint-{epoch}.h5");
///     for (const std::string& line : latest.skipped) tell(line);  // why a later file was not taken
///     if (!latest.path.empty()) model.load_weights(latest.path);  // then fit(data, {.resume = true})
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Whoever keeps a damaged file for its owner gives it this ending: files with it are not looked at.
inline constexpr const char* kDamagedEnding = ".damaged";

struct LatestCheckpoint {
  std::string path;         ///< empty: there is none
  std::int64_t epochs = 0;  ///< finished when it was written
  std::int64_t steps = 0;
  /// A line for each file that is no good but would have come before: its path and what is wrong with it.
  std::vector<std::string> skipped;
  std::vector<std::string> damaged = {};  ///< the paths of those that could be read, but are no good
  std::int64_t refused = 0;               ///< that many more advanced ones were not to be taken
  std::vector<std::string> paths = {};    ///< of all that were looked at and are not damaged at first sight
};

/// The most advanced good checkpoint among the files that a directory holds (`*.h5`, `*.keras`), or that a
/// pattern of ModelCheckpoint names ("a/{epoch:02d}-{val_loss:.2f}.h5"; "*" stands for anything too). What
/// counts is the progress stored in the file, not its time. Good means: every byte is as it was written
/// (SHA-256), and it can be read. A damaged or cut-off file is skipped in favour of the one before it. Files
/// being written, or left half-written by a process that was killed, have other names and are not looked at.
/// On this process alone: let rank 0 ask. IoError when the directory is there but cannot be read.
///
/// Files that `refuses` says yes to, as those of an earlier run, are passed over.
RONDE_API LatestCheckpoint
latest_checkpoint(const std::string& pattern_or_directory,
                  const std::function<bool(const std::string& path)>& refuses = {});

}  // namespace ronde::inline v0
