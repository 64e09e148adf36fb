/// Files, whole: read at once, or replaced at once.
///
/// A process calls these on its own; in a group of ranks let rank 0 do it inside `collectively`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Replaces the file `path` by `bytes`, or leaves it as it was: the bytes go to a new file in the same
/// directory, which is synced, renamed to `path`, and made durable by syncing the directory. Missing parent
/// directories are made. An IoError carries the path and the system's reason; the temporary file is gone
/// then. Those that killed processes left for this path are deleted. A symbolic link at `path` is an IoError;
/// links to directories on the way to it are followed.
RONDE_API void atomic_write_file(const std::string& path, std::string_view bytes);

/// All bytes of a regular file. IoError when it cannot be read, InputError when it is larger than
/// `max_bytes`.
RONDE_API std::string read_file(const std::string& path, std::int64_t max_bytes = std::int64_t{1} << 33);

}  // namespace ronde::inline v0
