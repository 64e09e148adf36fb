#include "common/output_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <ronde/core/error.h>

namespace ronde::apps {
namespace {

// Some file systems grant every right and yet take no file. A full one may have room again when it counts.
std::error_code try_file_in(const std::filesystem::path& directory) {
  const std::string path = (directory / cat(".ronde-try.", ::getpid())).string();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EEXIST)) return {};
  if (file < 0) return {errno, std::generic_category()};
  ::close(file);
  ::unlink(path.c_str());
  return {};
}

// To go on there, its files must be found too.
std::error_code problem_of(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error))
    return error ? error : std::make_error_code(std::errc::no_such_file_or_directory);
  if (!std::filesystem::is_directory(directory, error))
    return std::make_error_code(std::errc::not_a_directory);
  if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0) return {errno, std::generic_category()};
  return try_file_in(directory);
}

}  // namespace

void make_place(const std::string& option, const std::filesystem::path& directory) {
  const std::filesystem::path target = directory.empty() ? "." : directory;
  std::error_code error;
  std::filesystem::create_directories(target, error);
  if (!error) error = problem_of(target);
  require<IoError>(!error, "cannot write in ", target.string(), ": ", error.message(), ": give another ",
                   option);
}

void require_place(const std::string& option, const std::string& file) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  const std::filesystem::path target = parent.empty() ? "." : parent;
  const std::error_code error = problem_of(target);
  require<IoError>(!error, "cannot write in ", target.string(), ": ", error.message(), ": ",
                   std::filesystem::exists(target) ? "" : "make it, or ", "give another ", option);
}

}  // namespace ronde::apps
