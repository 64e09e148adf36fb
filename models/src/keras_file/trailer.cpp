#include "keras_file/trailer.h"

#include <array>
#include <charconv>
#include <cstdio>

#include <ronde/core/error.h>
#include <ronde/core/sha256.h>

namespace ronde::inline v0 {

namespace {

constexpr std::string_view kMagic = "\nronde-sha256 ";
constexpr std::size_t kDigits = 64;
constexpr std::size_t kLength = kMagic.size() + kDigits + 1;  // of the line with the SHA-256

constexpr std::string_view kProgress = "\nronde-progress ";
constexpr std::size_t kEpochDigits = 10;
constexpr std::size_t kStepDigits = 14;
constexpr std::size_t kProgressLength = kProgress.size() + kEpochDigits + 1 + kStepDigits;

std::optional<std::int64_t> parse(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) return {};
  return value;
}

}  // namespace

const std::size_t kShaLineLength = kLength;
const std::size_t kTrailerLength = kProgressLength + kLength;
const std::size_t kArchiveEndLength = kTrailerLength + 1024;

void append_progress(FileBuffer& bytes, const FileProgress& progress) {
  std::array<char, 64> line{};
  const int length = std::snprintf(line.data(), line.size(), "%0*lld %0*lld", static_cast<int>(kEpochDigits),
                                   static_cast<long long>(progress.epochs), static_cast<int>(kStepDigits),
                                   static_cast<long long>(progress.steps));
  bytes.append(kProgress);
  bytes.append({line.data(), static_cast<std::size_t>(length)});
}

std::string trailer_for(const std::string& digest) {
  return cat(kMagic, digest, "\n");
}

void append_trailer(FileBuffer& bytes) {
  bytes.append(trailer_for(sha256_hex(bytes)));
}

bool has_trailer(std::string_view bytes) {
  return bytes.size() >= kLength && bytes.substr(bytes.size() - kLength).starts_with(kMagic);
}

std::string_view verify_trailer(std::string_view bytes) {
  if (!has_trailer(bytes)) return bytes;
  const std::string_view trailer = bytes.substr(bytes.size() - kLength);
  bytes.remove_suffix(kLength);
  require<InputError>(trailer == trailer_for(sha256_hex(bytes)),
                      "damaged: its bytes are not those that were written (SHA-256 differs)");
  return bytes;
}

std::optional<FileProgress> read_progress(std::string_view end_of_file) {
  if (end_of_file.size() != kTrailerLength || !end_of_file.starts_with(kProgress) ||
      !end_of_file.substr(kProgressLength).starts_with(kMagic))
    return {};
  const auto epochs = parse(end_of_file.substr(kProgress.size(), kEpochDigits));
  const auto steps = parse(end_of_file.substr(kProgress.size() + kEpochDigits + 1, kStepDigits));
  if (!epochs || !steps) return {};
  return FileProgress{*epochs, *steps};
}

std::optional<FileProgress> read_archive_progress(std::string_view end_of_archive) {
  const std::size_t at = end_of_archive.rfind(kProgress);
  if (at == std::string_view::npos) return {};
  return read_progress(end_of_archive.substr(at, kTrailerLength));
}

}  // namespace ronde::inline v0
