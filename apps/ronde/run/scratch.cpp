#include "ronde/run/scratch.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

constexpr const char* kPrefix = "mpirun-of-ronde-";
constexpr std::time_t kYoung = 60;  // seconds; its owner may be about to lock it

// A file descriptor; -1: somebody else has it. Not inherited by mpirun.
int lock_directory(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

bool is_old_and_ours(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         std::time(nullptr) - info.st_mtime > kYoung;
}

// Of supervisors that were killed.
void remove_abandoned(const std::string& parent) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator entry(parent, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (entry->path().filename().string().starts_with(kPrefix)) found.push_back(entry->path().string());
  for (const std::string& path : found) {
    const int lock = is_old_and_ours(path) ? lock_directory(path) : -1;
    if (lock < 0) continue;
    std::filesystem::remove_all(path, ignored);
    close(lock);
  }
}

}  // namespace

Scratch::Scratch() {
  const char* temporary = std::getenv("TMPDIR");
  add(temporary && *temporary ? temporary : "/tmp",
      {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"});
  add("/dev/shm", {"OMPI_MCA_btl_vader_backing_directory"});
  settings_["PMIX_MCA_gds"] = "^shmem";  // of PMIx 5.0, as with Ubuntu 24.04: its files have no other place
}

Scratch::~Scratch() {
  std::error_code ignored;  // what is left then is what mpirun would have left
  for (const Directory& directory : directories_) {
    std::filesystem::remove_all(directory.path, ignored);
    close(directory.lock);
  }
}

// With a name that nobody can know before, for this user alone.
void Scratch::add(const std::string& parent, std::initializer_list<const char*> variables) {
  remove_abandoned(parent);
  std::string name = cat(parent, '/', kPrefix, "XXXXXX");
  if (!mkdtemp(name.data())) return;
  directories_.push_back({name, lock_directory(name)});
  for (const char* variable : variables) settings_[variable] = name;
}

}  // namespace ronde::apps
