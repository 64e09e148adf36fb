/// Where an Uploader puts files: what its target says, and one try at one file.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace ronde::inline v0 {

class UploadTarget {
 public:
  /// UsageError. See Uploader for what `text` may be.
  UploadTarget(const std::string& text, double timeout);

  /// Throws an IoError where nothing can be put.
  void prepare() const;
  /// "" or what went wrong. `give_up` ends a command early.
  std::string put(const std::string& file, const std::string& name, const std::atomic<bool>& give_up) const;

  bool is_command() const { return !words_.empty(); }
  /// Of a file, with everything filled in.
  std::vector<std::string> command(const std::string& file, const std::string& name) const;

 private:
  std::vector<std::string> words_;  // of the command; empty: a directory
  std::string directory_;
  double timeout_;
};

}  // namespace ronde::inline v0
