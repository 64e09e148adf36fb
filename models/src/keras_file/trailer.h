/// The last lines of a file written by Ronde, behind the HDF5 data, where HDF5 ignores them:
///
///     "\nronde-progress <epochs, 10 digits> <steps, 14 digits>"    in files with a training state
///     "\nronde-sha256 <64 hex digits>\n"                           over all bytes before it
///
/// The SHA-256 is checked before libhdf5 sees the file, because that library can be crashed by damaged bytes.
/// A file without it (from Keras, or edited by another program, which cuts it off) rests on HDF5's own
/// checksums. The progress lets one find the newest of many checkpoints without reading them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/file_buffer.h"

namespace ronde::inline v0 {

struct FileProgress {
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  auto operator<=>(const FileProgress&) const = default;
};

void append_progress(FileBuffer& bytes, const FileProgress& progress);
void append_trailer(FileBuffer& bytes);

/// The line with the SHA-256 for a file whose bytes before it have this one, in hex digits.
std::string trailer_for(const std::string& sha256);
/// How many bytes it takes.
extern const std::size_t kShaLineLength;
/// Whether there is a SHA-256, right or wrong.
bool has_trailer(std::string_view bytes);
/// The bytes before the SHA-256, or all when there is none. InputError when they are not those that were
/// written.
std::string_view verify_trailer(std::string_view bytes);

/// How many bytes both lines take.
extern const std::size_t kTrailerLength;
/// What the last kTrailerLength bytes of a file say, unverified; nothing when they are not the two lines.
std::optional<FileProgress> read_progress(std::string_view end_of_file);
/// The same of a .keras archive, whose last member ends with the two lines, and behind which its directory
/// lies: `end_of_archive` are the last kArchiveEndLength bytes, or all.
std::optional<FileProgress> read_archive_progress(std::string_view end_of_archive);
/// More than the lines and the directory of three members take.
extern const std::size_t kArchiveEndLength;

}  // namespace ronde::inline v0
