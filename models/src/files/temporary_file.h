#pragma once

#include <string>

#include "files/file_descriptor.h"

namespace ronde::inline v0 {

/// A new file "<target>.tmp.<process>" next to `target`, deleted at the end unless it was kept.
///
/// Note [Abandoned files]: a process that is killed leaves its temporary file behind. So its maker holds a
/// lock on it, which ends with the process, and who makes the next one for the same target deletes those that
/// nobody holds. Where a file system has no locks nothing is deleted.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  FileDescriptor& file() { return file_; }
  /// It has another name now.
  void keep() { path_.clear(); }

 private:
  std::string path_;
  FileDescriptor file_;
};

/// Deletes what killed processes left of files of a pattern: a run that goes on may give its files other
/// names. What cannot be looked at or deleted stays.
void delete_abandoned_files(const std::string& pattern);

/// "." for a name without one.
std::string directory_of(const std::string& path);

}  // namespace ronde::inline v0
