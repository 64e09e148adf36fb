#include <ronde/models/latest_checkpoint.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <ronde/core/error.h>
#include <ronde/core/new_file.h>
#include <ronde/models/saved_model.h>

#include "files/wildcard.h"
#include "keras_file/keras_archive.h"
#include "keras_file/trailer.h"

namespace ronde::inline v0 {

namespace {

namespace fs = std::filesystem;

struct Candidate {
  std::string path;
  FileProgress progress;
};

std::vector<fs::path> files_of(const std::string& pattern_or_directory) {
  std::error_code error;
  if (!fs::is_directory(pattern_or_directory, error)) return expand_pattern(pattern_or_directory);
  std::vector<fs::path> files = entries_of_directory(pattern_or_directory);
  std::erase_if(files, [](const fs::path& file) {
    const fs::path ending = file.extension();
    return ending != ".h5" && ending != ".hdf5" && ending != ".keras";
  });
  return files;
}

/// Of so many bytes at the end, or all.
std::string end_of(std::ifstream& file, std::size_t length) {
  const std::streamoff size = file.seekg(0, std::ios::end).tellg();
  std::string end(std::min(length, static_cast<std::size_t>(std::max<std::streamoff>(0, size))), '\0');
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  return file ? end : "";
}

std::optional<FileProgress> progress_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(4, '\0');
  if (!file.read(begin.data(), std::ssize(begin))) return {};
  return is_zip_archive(begin) ? read_archive_progress(end_of(file, kArchiveEndLength))
                               : read_progress(end_of(file, kTrailerLength));
}

/// The most advanced first; of equally advanced ones the last by name.
std::vector<Candidate> candidates_of(const std::string& pattern_or_directory, LatestCheckpoint& latest) {
  std::vector<Candidate> candidates;
  for (const fs::path& path : files_of(pattern_or_directory)) {
    std::error_code error;
    const std::string name = path.filename().string();
    if (!fs::is_regular_file(path, error) || is_temporary_name(name) || name.ends_with(kDamagedEnding))
      continue;
    if (const auto progress = progress_of(path)) {
      candidates.push_back({path.string(), *progress});
    } else {
      latest.skipped.push_back(cat(path.string(), ": is cut off, or no checkpoint of Ronde"));
      if (std::ifstream(path).is_open()) latest.damaged.push_back(path.string());
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.progress.steps != b.progress.steps) return a.progress.steps > b.progress.steps;
    if (a.progress.epochs != b.progress.epochs) return a.progress.epochs > b.progress.epochs;
    return a.path > b.path;
  });
  return candidates;
}

}  // namespace

LatestCheckpoint latest_checkpoint(const std::string& pattern_or_directory,
                                   const std::function<bool(const std::string& path)>& refuses) {
  LatestCheckpoint latest;
  const std::vector<Candidate> candidates = candidates_of(pattern_or_directory, latest);
  for (const Candidate& candidate : candidates) latest.paths.push_back(candidate.path);
  for (const Candidate& candidate : candidates) {
    if (refuses && refuses(candidate.path)) {
      ++latest.refused;
      continue;
    }
    try {
      const SavedModel file = read_saved_model(candidate.path);
      require<InputError>(file.state && file.state->run, candidate.path, ": holds no state of a training");
      latest.path = candidate.path;
      latest.epochs = candidate.progress.epochs;
      latest.steps = candidate.progress.steps;
      break;
    } catch (const Error& error) {
      latest.skipped.emplace_back(error.what());
      if (error.status() == ExitStatus::bad_input) latest.damaged.push_back(candidate.path);
    }
  }
  std::sort(latest.skipped.begin(), latest.skipped.end());
  return latest;
}

}  // namespace ronde::inline v0
