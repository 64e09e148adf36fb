#include "watchdog/heartbeat.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ronde/core/error.h>

#include "shm/futex.h"

namespace ronde::inline v0 {
namespace {

constexpr double kNap = 10.0;  // seconds, at the longest; who releases wakes
constexpr std::string_view kVersion = "2:";  // of HeartbeatSlot; before the path

std::size_t bytes_for(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(HeartbeatSlot);
}

void* map(int file, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

HeartbeatFile::HeartbeatFile(int ranks) : ranks_(ranks) {
  file_ = memfd_create("ronde-heartbeat", MFD_CLOEXEC);
  const bool has_room = file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes_for(ranks))) == 0;
  memory_ = has_room ? map(file_, bytes_for(ranks)) : nullptr;
  if (!memory_ && file_ >= 0) close(file_);
  require<IoError>(memory_ != nullptr, "no memory for heartbeats: ", std::strerror(errno));
}

HeartbeatFile::~HeartbeatFile() {
  munmap(memory_, bytes_for(ranks_));
  close(file_);
}

std::string HeartbeatFile::address() const {
  return cat(kVersion, "/proc/", getpid(), "/fd/", file_);
}

HeartbeatSlot& HeartbeatFile::slot(int rank) const {
  return static_cast<HeartbeatSlot*>(memory_)[rank];
}

void HeartbeatFile::clear() {
  for (int r = 0; r < ranks_; ++r) {
    HeartbeatSlot& one = slot(r);
    one.process = 0;
    one.beat = one.step = one.operations = one.batches = 0;
    one.start_deadline = one.later_deadline = 0.0;
    one.held = 0;
    one.paused = 0;
    one.trains = 0;
  }
}

void HeartbeatFile::hold() {
  for (int r = 0; r < ranks_; ++r) slot(r).held = 1;
}

void HeartbeatFile::release() {
  for (int r = 0; r < ranks_; ++r) {
    slot(r).held = 0;
    futex_wake(slot(r).held);
  }
}

std::shared_ptr<HeartbeatSlot> open_heartbeat(int rank) {
  const char* address = std::getenv("RONDE_HEARTBEAT");
  if (!address || !std::string_view(address).starts_with(kVersion)) return nullptr;
  const int file = open(address + kVersion.size(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;  // on another machine than who supervises
  struct stat info {};
  const std::size_t bytes = fstat(file, &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
  void* memory = bytes >= bytes_for(rank + 1) ? map(file, bytes) : nullptr;
  close(file);
  if (!memory) return nullptr;
  const std::shared_ptr<void> whole(memory, [bytes](void* mapped) { munmap(mapped, bytes); });
  return {whole, static_cast<HeartbeatSlot*>(memory) + rank};
}

std::shared_ptr<HeartbeatSlot> report_for_duty(int rank, const JobDeadlines& deadlines) {
  const std::shared_ptr<HeartbeatSlot> heartbeat = open_heartbeat(rank);
  if (!heartbeat) return nullptr;
  heartbeat->start_deadline = deadlines.start;
  heartbeat->later_deadline = deadlines.later;
  heartbeat->trains = waits_later_than_init() ? 1 : 0;
  heartbeat->process = getpid();
  return heartbeat;
}

bool waits_later_than_init() {
  return std::getenv("RONDE_WAITS_LATER") != nullptr;
}

double wait_while_held(int rank) {
  const std::shared_ptr<HeartbeatSlot> slot = open_heartbeat(rank);
  const auto begin = std::chrono::steady_clock::now();
  while (slot && slot->held.load() != 0) futex_sleep(slot->held, 1, kNap);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace ronde::inline v0
