/// EarlierFiles: which checkpoints of a place are of an earlier run, by their names.
///
/// A new run writes them into its mark (RunFiles::new_run) when it begins, and takes a name off once it has
/// written a file of that name. A kill between the two leaves a new file that is taken for an earlier one: it
/// is written once more. The other way round an earlier file would be taken for this run's. Times tell
/// nothing: a copy may change them.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ronde::apps {

class EarlierFiles {
 public:
  /// What is in `mark`; nothing where there is no such file. IoError.
  explicit EarlierFiles(std::string mark);

  bool contains(const std::string& path) const;
  bool has_names() const { return !names_.empty(); }
  /// These, and all model files beside the mark.
  void begin(const std::vector<std::string>& paths);
  /// Says on stderr, once, that the mark cannot be written; the next file tries again.
  void forget(const std::string& path);

 private:
  std::string name_of(const std::string& path) const;
  bool write();

  std::string mark_;
  std::set<std::string> names_;  ///< below the mark's folder, or absolute
  /// Of a mark of Ronde 0.1, which has no names: what is older counts.
  std::optional<std::filesystem::file_time_type> begin_;
  bool is_written_ = true;  ///< names_, as they are
  bool has_warned_ = false;
};

}  // namespace ronde::apps
