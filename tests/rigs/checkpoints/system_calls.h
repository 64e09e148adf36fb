/// The system calls of the save path, seen and disturbed: this program defines open, write, fsync, ...
/// itself, so every call of Ronde's objects that are linked into it comes through here.
///
/// Only calls on files below one directory count. Thread safety: any thread may call; start and stop belong
/// to one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ronde::rigs {

struct SystemCall {
  enum class Kind { open, create, write, fsync, sync_directory, close, rename, unlink, lock, other };
  Kind kind = Kind::other;
  std::string path;   ///< of the file, or of the directory that is synced
  std::string other;  ///< rename: the new name
  std::string bytes;  ///< write: what was written
};
const char* name_of(SystemCall::Kind kind);

/// What happens to a call.
struct Fault {
  std::int64_t call = -1;  ///< counted from 0
  bool persists = false;   ///< and to all calls of the same kind after it
  int error = 0;           ///< errno; the call is not made
  bool is_short = false;   ///< a write takes half of the bytes
  bool kills = false;      ///< SIGKILL instead of the call
};

/// From here on calls below `directory` count; `fault` befalls one of them.
void start(const std::string& directory, const Fault& fault = {});
/// Calls since then.
std::size_t call_count();
/// What was called since.
std::vector<SystemCall> stop();

}  // namespace ronde::rigs
