#include "common/earlier_files.h"

#include <cstdio>
#include <sstream>
#include <system_error>
#include <utility>

#include <ronde/core/error.h>
#include <ronde/core/new_file.h>
#include <ronde/models/file_io.h>

namespace ronde::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTitle =
    "These checkpoints are of an earlier run: --resume auto passes them over until they are replaced.";

fs::path real_folder(const std::string& file) {
  std::error_code error;
  const std::string folder = directory_of(file);
  const fs::path real = fs::weakly_canonical(fs::absolute(folder, error), error);
  return error ? fs::path(folder) : real;
}

std::vector<std::string> model_files_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path ending = entry->path().extension();
    if (ending == ".h5" || ending == ".hdf5" || ending == ".keras") found.push_back(entry->path().string());
  }
  return found;
}

// A name may have line ends; a line of the mark is a name.
std::string as_line(const std::string& name) {
  std::string line;
  for (const char c : name) {
    if (c == '\n' || c == '\\') line += '\\';
    line += c == '\n' ? 'n' : c;
  }
  return line;
}

std::string name_in(const std::string& line) {
  std::string name;
  for (auto c = line.begin(); c != line.end(); ++c) {
    const bool is_sign = *c == '\\' && std::next(c) != line.end();
    if (is_sign) ++c;
    name += is_sign && *c == 'n' ? '\n' : *c;
  }
  return name;
}

}  // namespace

EarlierFiles::EarlierFiles(std::string mark) : mark_(std::move(mark)) {
  std::error_code error;
  if (!fs::exists(mark_, error)) return;
  std::istringstream lines(read_file(mark_));
  std::string line;
  if (!std::getline(lines, line) || line != kTitle) {
    const fs::file_time_type time = fs::last_write_time(mark_, error);
    if (!error) begin_ = time;
    return;
  }
  while (std::getline(lines, line)) names_.insert(name_in(line));
}

bool EarlierFiles::contains(const std::string& path) const {
  if (!begin_) return names_.contains(name_of(path));
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  return error || time < *begin_;
}

void EarlierFiles::begin(const std::vector<std::string>& paths) {
  begin_.reset();
  names_.clear();
  for (const std::vector<std::string>& files : {paths, model_files_in(directory_of(mark_))})
    for (const std::string& path : files) names_.insert(name_of(path));
  is_written_ = write();
}

void EarlierFiles::forget(const std::string& path) {
  if (names_.erase(name_of(path)) > 0) is_written_ = false;
  if (!is_written_) is_written_ = write();
}

std::string EarlierFiles::name_of(const std::string& path) const {
  const fs::path file = real_folder(path) / fs::path(path).filename();
  const fs::path way = file.lexically_relative(real_folder(mark_));
  return way.empty() || *way.begin() == ".." ? file.string() : way.string();
}

bool EarlierFiles::write() try {
  std::string text = cat(kTitle, "\n");
  for (const std::string& name : names_) text += as_line(name) + "\n";
  atomic_write_file(mark_, text);
  return true;
} catch (const Error& error) {
  if (!std::exchange(has_warned_, true))
    std::fprintf(stderr,
                 "ronde: warning: %s: --resume auto may take an earlier run's checkpoints for this run's, or "
                 "this run's for an earlier one's\n",
                 error.what());
  return false;
}

}  // namespace ronde::apps
