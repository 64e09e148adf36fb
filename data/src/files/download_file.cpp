#include "files/download_file.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/new_file.h>
#include <ronde/core/sha256.h>
#include <ronde/data/data_directory.h>

#include "files/byte_reader.h"
#include "files/http.h"

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kMaxDownload = 256 << 20;
constexpr std::uint64_t kMaxContent = 1 << 30;  // a small file may decompress to a very large one

std::string sha256_of(const std::string& path, Pinned pinned) {
  const InputFile file(path);
  ByteReader reader = pinned == Pinned::file ? ByteReader(file, {.length = file.size()}) : ByteReader(file);
  Sha256 hash;
  std::vector<char> piece(256 << 10);
  std::uint64_t total = 0;
  while (const std::size_t got = reader.read_some(piece.data(), piece.size())) {
    hash.update(piece.data(), got);
    total += got;
    file.expect(total <= kMaxContent, "holds more than ", grouped(kMaxContent), " bytes");
  }
  return hash.hex();
}

/// What is wrong with a download, or "".
std::string check(const std::string& path, const PinnedFile& pinned) {
  const std::string& expected = pinned.sha256;
  try {
    const std::string actual = sha256_of(path, pinned.pinned);
    return actual == expected ? "" : cat("its content has SHA-256 ", actual, ", expected ", expected);
  } catch (const InputError&) {
    return cat("it is damaged, expected content of SHA-256 ", expected);
  }
}

}  // namespace

void download_file(const PinnedFile& pinned, const std::string& directory, const DownloadOptions& options) {
  const std::string& name = pinned.name;
  NewFile file(directory + "/" + name);
  FetchOptions fetching{.max_bytes = kMaxDownload,
                        .connect_timeout_s = options.connect_timeout_s,
                        .stall_timeout_s = options.stall_timeout_s};
  if (options.progress)
    fetching.progress = [&](std::int64_t bytes, std::int64_t total) {
      options.progress({name, bytes, total});
    };
  std::string unreachable, wrong;
  for (const std::string& mirror : options.mirrors) {
    const std::string url = mirror + (mirror.ends_with('/') ? "" : "/") + name;
    file.clear();
    if (const std::string reason = fetch(url, file.descriptor(), fetching); !reason.empty()) {
      unreachable += cat("; ", url, ": ", reason);
      continue;
    }
    const std::string problem = check(file.temporary_path(), pinned);
    if (problem.empty()) return file.publish();
    wrong += cat("; ", url, ": ", problem);
  }
  require<InputError>(wrong.empty(), "data: ", name, " was not what it must be and is not kept", wrong,
                      unreachable);
  throw IoError(cat("data: ", name, " could not be downloaded", unreachable,
                    "; fetch it elsewhere and put it into ", directory));
}

void download_missing(const std::vector<PinnedFile>& files, const std::string& name, DownloadOptions options,
                      const std::vector<std::string>& mirrors) {
  const std::string directory =
      options.directory.empty() ? default_data_directory() + "/" + name : options.directory;
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(directory, error);
  require<IoError>(!error, "data: ", directory, ": cannot be made: ", error.message());
  if (options.mirrors.empty()) options.mirrors = mirrors;
  try {
    for (const PinnedFile& file : files)
      if (!std::filesystem::exists(directory + "/" + file.name)) download_file(file, directory, options);
  } catch (...) {
    if (is_new) std::filesystem::remove(directory, error);  // unless there is something in it
    throw;
  }
}

}  // namespace ronde::inline v0
