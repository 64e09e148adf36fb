#include "cuda/fake/rank_memory.h"

#include <new>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ronde::test {

namespace {

constexpr std::size_t kHead = 1 << 16;
constexpr std::size_t kAll = kHead + RankMemory::kRanks * RankMemory::kBytes;

}  // namespace

std::string RankMemory::new_name() {
  static std::atomic<int> groups = 0;
  return "/ronde-fake-" + std::to_string(getpid()) + "-" + std::to_string(++groups);
}

// New memory of the system is zeros, which is what all of it starts as.
RankMemory::RankMemory(const std::string& name, int rank, int size) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, kAll) != 0) throw std::runtime_error("no memory for fake ranks");
  void* memory = mmap(nullptr, kAll, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for fake ranks");
  static_assert(sizeof(Shared) <= kHead);
  shared_ = std::launder(reinterpret_cast<Shared*>(memory));
  bytes_ = static_cast<char*>(memory) + kHead;
  if (shared_->here.fetch_add(1) + 1 == size) shm_unlink(name.c_str());
  this->rank(rank).joined = 1;
}

RankMemory::~RankMemory() {
  munmap(static_cast<void*>(shared_), kAll);
}

bool RankMemory::all_joined(int size) {
  for (int r = 0; r < size; ++r)
    if (rank(r).joined == 0) return false;
  return true;
}

bool RankMemory::all_opened(std::int64_t window, int size) {
  for (int r = 0; r < size; ++r)
    if (rank(r).windows < window) return false;
  return true;
}

bool RankMemory::same_window(std::int64_t window, int size) {
  const std::size_t place = static_cast<std::size_t>(window) % 2;
  for (int r = 1; r < size; ++r)
    if (rank(r).window_call[place] != rank(0).window_call[place] ||
        rank(r).window_bytes[place] != rank(0).window_bytes[place])
      return false;
  return true;
}

bool RankMemory::any_broken(int size) {
  for (int r = 0; r < size; ++r)
    if (rank(r).broken != 0) return true;
  return false;
}

}  // namespace ronde::test
