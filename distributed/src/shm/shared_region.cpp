#include "shm/shared_region.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ronde/core/error.h>
#include <ronde/core/machine.h>

namespace ronde::inline v0 {
namespace {

[[noreturn]] void fail(const char* what, std::int64_t bytes, int error) {
  throw Error(
      cat("[shared_memory] ", what, " of ", bytes, " bytes: ", std::generic_category().message(error)));
}

std::uint64_t process_space() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

std::int64_t all_memory() {
  const Machine machine = this_machine();
  return machine.memory_limit > 0 ? std::min(machine.memory, machine.memory_limit) : machine.memory;
}

// Of this process; a child's differs in its process number.
std::uint64_t maker_number() {
  static const std::uint64_t number = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  return number;
}

// Closes a descriptor at the end of a scope.
struct File {
  int number;
  ~File() {
    if (number >= 0) close(number);
  }
};

}  // namespace

std::shared_ptr<SharedRegion> SharedRegion::create(Kind kind, std::int64_t bytes) {
  const std::shared_ptr<SharedRegion> region(new SharedRegion);
  region->ticket_.kind = kind;
  region->ticket_.bytes = bytes;
  region->ticket_.process = getpid();
  region->ticket_.space = process_space();
  region->ticket_.maker = maker_number();
  region->ticket_.here = region.get();
  kind == Kind::anonymous ? region->open_anonymous() : region->open_named();
  region->reserve();
  region->map(region->ticket_.file);
  return region;
}

void SharedRegion::open_anonymous() {
  ticket_.file = memfd_create("ronde", MFD_CLOEXEC);
  if (ticket_.file < 0) fail("memfd_create", ticket_.bytes, errno);
}

void SharedRegion::open_named() {
  std::random_device random;
  do {
    std::snprintf(ticket_.name, sizeof ticket_.name, "/ronde-%d-%08x%08x", ticket_.process, random(),
                  random());
    ticket_.file = shm_open(ticket_.name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  } while (ticket_.file < 0 && errno == EEXIST);
  if (ticket_.file < 0) {
    ticket_.name[0] = '\0';
    fail("shm_open", ticket_.bytes, errno);
  }
}

// Gets all pages now: a /dev/shm that is too small is an error here and not a SIGBUS later. A file without a
// name has no such limit: the kernel would give it all pages there are, and then kill some process.
void SharedRegion::reserve() {
  int error = ticket_.bytes > all_memory() ? ENOMEM : EINTR;
  while (error == EINTR) error = posix_fallocate(ticket_.file, 0, ticket_.bytes);
  if (error != 0) fail("reserving shared memory", ticket_.bytes, error);
  struct stat status {};
  if (fstat(ticket_.file, &status) != 0) fail("fstat", ticket_.bytes, errno);
  ticket_.device = status.st_dev;
  ticket_.inode = status.st_ino;
}

void SharedRegion::map(int file) {
  const auto size = static_cast<std::size_t>(ticket_.bytes);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail("mmap", ticket_.bytes, errno);
  data_ = static_cast<char*>(memory);
}

std::shared_ptr<SharedRegion> SharedRegion::attach(const Ticket& ticket) {
  if (ticket.process == getpid() && ticket.maker == maker_number()) return ticket.here->shared_from_this();
  require(ticket.space == process_space(), "[shared_memory] process ", ticket.process,
          " is in another container, where its death could not be seen");
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket.process, ticket.file);
  const bool is_named = ticket.kind == Kind::named;
  const File file{is_named ? shm_open(ticket.name, O_RDWR | O_CLOEXEC, 0) : open(path, O_RDWR | O_CLOEXEC)};
  if (file.number < 0) fail(is_named ? "shm_open" : "opening another process' memory", ticket.bytes, errno);
  // In another process name space the number may belong to somebody else.
  struct stat status {};
  if (fstat(file.number, &status) != 0) fail("fstat", ticket.bytes, errno);
  require(status.st_dev == ticket.device && status.st_ino == ticket.inode && status.st_size == ticket.bytes,
          "[shared_memory] found other memory than that of process ", ticket.process);
  const std::shared_ptr<SharedRegion> region(new SharedRegion);
  region->ticket_.kind = ticket.kind;
  region->ticket_.bytes = ticket.bytes;
  region->map(file.number);
  return region;
}

void SharedRegion::close_door() {
  if (ticket_.name[0] != '\0') shm_unlink(ticket_.name);
  ticket_.name[0] = '\0';
  if (ticket_.file >= 0) close(ticket_.file);
  ticket_.file = -1;
}

SharedRegion::~SharedRegion() {
  close_door();
  if (data_) munmap(data_, static_cast<std::size_t>(ticket_.bytes));
}

}  // namespace ronde::inline v0
