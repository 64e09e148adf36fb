/// NewFile: a file that appears under its name whole, or not at all.
///
///     NewFile file("results/model.h5");
///     file.append(bytes);
///     file.publish();
///
/// Its bytes go to "model.h5.tmp.<process>" beside it. `publish` syncs them, renames the file and syncs the
/// directory: it survives a power cut once this has returned. Without `publish` nothing is left, and what was
/// there before is as it was. Errors are SystemErrors, which name the path and the system's reason.
///
/// Note [Abandoned files]: a process that is killed leaves its temporary file behind. So its maker holds a
/// lock on it, which ends with the process, and who makes the next one for the same path deletes those that
/// nobody holds. Where a file system has no locks nothing is deleted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <ronde/core/export.h>
#include <ronde/core/file_descriptor.h>

namespace ronde::inline v0 {

class RONDE_API NewFile {
 public:
  /// The directory must be there. `mode` is the file's, less the umask.
  explicit NewFile(std::string path, mode_t mode = 0666);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int descriptor() const { return file_.get(); }
  const std::string& temporary_path() const { return temporary_; }
  void append(std::string_view bytes);
  /// At `offset`; what is skipped reads as zeros.
  void write(std::uint64_t offset, std::string_view bytes);
  /// Makes it empty again.
  void clear();
  void publish();

 private:
  std::string path_;
  std::string temporary_;
  FileDescriptor file_;
};

/// SystemError where NewFile would not replace what is at `path`: a link, a directory, a device. To be asked
/// before work whose result is to go there. Renaming would put a file in the link's place and leave what it
/// points to as it was: nobody who makes a link wants either, and a link that somebody else has made is a
/// trap. Root would even replace /dev/null, for all programs of the machine.
RONDE_API void require_replaceable(const std::string& path);

/// Whether it is the name of a temporary file: "a.h5.tmp.1234".
RONDE_API bool is_temporary_name(std::string_view name);
/// Deletes a temporary file whose process has ended. What cannot be looked at or deleted stays.
RONDE_API void delete_if_abandoned(const std::string& path);

/// "." for a name without one.
RONDE_API std::string directory_of(const std::string& path);

}  // namespace ronde::inline v0
