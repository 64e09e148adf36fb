#include "rigs/checkpoints/system_calls.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <mutex>

namespace ronde::rigs {
namespace {

using Kind = SystemCall::Kind;

constexpr int kMostFiles = 256;

struct Watch {
  std::mutex mutex;
  bool is_on = false;
  std::string directory;
  Fault fault;
  Kind fault_kind = Kind::other;  // of the call that was hit
  bool was_hit = false;
  std::vector<SystemCall> calls;
  std::array<std::string, kMostFiles> paths;  // of open files below the directory
};

Watch& watch() {
  static Watch all;
  return all;
}

bool is_below(const std::string& path) {
  return watch().is_on && path.starts_with(watch().directory);
}

/// What should befall this call; it is counted.
Fault count(SystemCall call) {
  Watch& all = watch();
  const auto number = static_cast<std::int64_t>(all.calls.size());
  const Kind kind = call.kind;
  all.calls.push_back(std::move(call));
  const bool again = all.fault.persists && all.was_hit && kind == all.fault_kind;
  if (number != all.fault.call && !again) return {};
  all.was_hit = true;
  all.fault_kind = kind;
  if (all.fault.kills) ::kill(::getpid(), SIGKILL);
  return all.fault;
}

int fail(int error) {
  errno = error;
  return -1;
}

std::string path_of(int fd) {
  return fd >= 0 && fd < kMostFiles ? watch().paths[static_cast<std::size_t>(fd)] : std::string();
}

int open_counted(const char* path, int flags, unsigned mode) {
  const std::lock_guard lock(watch().mutex);
  if (!is_below(path)) return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  const Kind kind = (flags & O_CREAT) != 0 ? Kind::create : Kind::open;
  if (const Fault fault = count({kind, path, {}, {}}); fault.error != 0) return fail(fault.error);
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (fd >= 0 && fd < kMostFiles) watch().paths[static_cast<std::size_t>(fd)] = path;
  return fd;
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr std::array names{"open",  "create", "write",  "fsync", "fsync of the directory",
                             "close", "rename", "unlink", "flock", "other"};
  return names[static_cast<std::size_t>(kind)];
}

void start(const std::string& directory, const Fault& fault) {
  const std::lock_guard lock(watch().mutex);
  Watch& all = watch();
  all.directory = directory;
  all.fault = fault;
  all.was_hit = false;
  all.calls.clear();
  all.paths = {};
  all.is_on = true;
}

std::size_t call_count() {
  const std::lock_guard lock(watch().mutex);
  return watch().calls.size();
}

std::vector<SystemCall> stop() {
  const std::lock_guard lock(watch().mutex);
  watch().is_on = false;
  return std::move(watch().calls);
}

}  // namespace ronde::rigs

// NOLINTBEGIN: these have the names of the C library
using ronde::rigs::SystemCall;

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return ronde::rigs::open_counted(path, flags, mode);
}

ssize_t write(int fd, const void* bytes, std::size_t count) {
  using namespace ronde::rigs;
  const std::lock_guard lock(watch().mutex);
  const std::string path = watch().is_on ? path_of(fd) : std::string();
  if (path.empty()) return ::syscall(SYS_write, fd, bytes, count);
  const Fault fault = ronde::rigs::count({Kind::write, path, {}, {}});
  if (fault.error != 0) return fail(fault.error);
  if (fault.is_short && count > 1) count /= 2;
  const ssize_t written = ::syscall(SYS_write, fd, bytes, count);
  if (written > 0)
    watch().calls.back().bytes.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(written));
  return written;
}

int fsync(int fd) {
  using namespace ronde::rigs;
  const std::lock_guard lock(watch().mutex);
  const std::string path = watch().is_on ? path_of(fd) : std::string();
  if (!path.empty()) {
    const bool is_directory = path == watch().directory;
    const Fault fault = count({is_directory ? Kind::sync_directory : Kind::fsync, path, {}, {}});
    if (fault.error != 0) return fail(fault.error);
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

// Closes whatever happens, as Linux does.
int close(int fd) {
  using namespace ronde::rigs;
  const std::lock_guard lock(watch().mutex);
  const std::string path = watch().is_on ? path_of(fd) : std::string();
  int error = 0;
  if (!path.empty()) {
    error = count({Kind::close, path, {}, {}}).error;
    watch().paths[static_cast<std::size_t>(fd)].clear();
  }
  const int result = static_cast<int>(::syscall(SYS_close, fd));
  return error != 0 ? fail(error) : result;
}

int rename(const char* from, const char* to) noexcept {
  using namespace ronde::rigs;
  const std::lock_guard lock(watch().mutex);
  if (is_below(from)) {
    const Fault fault = count({Kind::rename, from, to, {}});
    if (fault.error != 0) return fail(fault.error);
  }
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int unlink(const char* path) noexcept {
  using namespace ronde::rigs;
  const std::lock_guard lock(watch().mutex);
  if (is_below(path)) {
    const Fault fault = count({Kind::unlink, path, {}, {}});
    if (fault.error != 0) return fail(fault.error);
  }
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

// There is a struct of that name too.
int counted_flock(int fd, int operation) noexcept asm("flock");
int counted_flock(int fd, int operation) noexcept {
  using namespace ronde::rigs;
  const std::lock_guard lock(watch().mutex);
  const std::string path = watch().is_on ? path_of(fd) : std::string();
  if (!path.empty()) {
    const Fault fault = count({Kind::lock, path, {}, {}});
    if (fault.error != 0) return fail(fault.error);
  }
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}

}  // extern "C"
// NOLINTEND
