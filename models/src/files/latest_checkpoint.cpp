#include <ronde/models/latest_checkpoint.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <ronde/core/error.h>
#include <ronde/models/saved_model.h>

#include "files/wildcard.h"
#include "keras_file/trailer.h"

namespace ronde::inline v0 {

namespace {

namespace fs = std::filesystem;

struct Candidate {
  std::string path;
  FileProgress progress;
};

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw IoError(cat(directory.string(), ": cannot be read: ", error.message()));
  return entries;
}

/// What a ModelCheckpoint's pattern can have become, as it goes down the directories.
std::vector<fs::path> expand(const std::string& pattern) {
  std::vector<fs::path> found{pattern.starts_with('/') ? fs::path("/") : fs::path()};
  for (const fs::path& part : fs::path(wildcards_of(pattern)).relative_path()) {
    const std::string name = part.string();
    std::vector<fs::path> next;
    for (const fs::path& parent : found) {
      if (name.find(kWildcard) == std::string::npos) {
        next.push_back(parent / part);
        continue;
      }
      for (const fs::path& entry : entries_of(parent.empty() ? "." : parent))
        if (matches_wildcards(entry.filename().string(), name)) next.push_back(parent / entry.filename());
    }
    found = std::move(next);
  }
  return found;
}

std::vector<fs::path> files_of(const std::string& pattern_or_directory) {
  std::error_code error;
  if (!fs::is_directory(pattern_or_directory, error)) return expand(pattern_or_directory);
  std::vector<fs::path> files = entries_of(pattern_or_directory);
  std::erase_if(
      files, [](const fs::path& file) { return file.extension() != ".h5" && file.extension() != ".hdf5"; });
  return files;
}

std::optional<FileProgress> progress_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto length = static_cast<std::streamoff>(kTrailerLength);
  if (!file || file.tellg() < length) return {};
  std::string end(kTrailerLength, '\0');
  file.seekg(-length, std::ios::end);
  if (!file.read(end.data(), length)) return {};
  return read_progress(end);
}

/// The most advanced first; of equally advanced ones the last by name.
std::vector<Candidate> candidates_of(const std::string& pattern_or_directory,
                                     std::vector<std::string>& skipped) {
  std::vector<Candidate> candidates;
  for (const fs::path& path : files_of(pattern_or_directory)) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || is_temporary_name(path.filename().string())) continue;
    if (const auto progress = progress_of(path))
      candidates.push_back({path.string(), *progress});
    else
      skipped.push_back(cat(path.string(), ": is cut off, or no checkpoint of Ronde"));
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.progress.steps != b.progress.steps) return a.progress.steps > b.progress.steps;
    if (a.progress.epochs != b.progress.epochs) return a.progress.epochs > b.progress.epochs;
    return a.path > b.path;
  });
  return candidates;
}

}  // namespace

LatestCheckpoint latest_checkpoint(const std::string& pattern_or_directory) {
  LatestCheckpoint latest;
  for (const Candidate& candidate : candidates_of(pattern_or_directory, latest.skipped)) {
    try {
      const SavedModel file = read_saved_model(candidate.path);
      require<InputError>(file.state && file.state->run, candidate.path, ": holds no state of a training");
      latest.path = candidate.path;
      latest.epochs = candidate.progress.epochs;
      latest.steps = candidate.progress.steps;
      break;
    } catch (const Error& error) {
      latest.skipped.emplace_back(error.what());
    }
  }
  std::sort(latest.skipped.begin(), latest.skipped.end());
  return latest;
}

}  // namespace ronde::inline v0
