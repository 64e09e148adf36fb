#include "watchdog/progress_board.h"

#include <new>

namespace ronde::inline v0 {

// Only the rank itself writes, so nobody takes a place between the two stores.
void ProgressSlot::set_sequence(std::uint64_t id, std::int64_t sequence) {
  Group* free = nullptr;
  for (Group& group : groups) {
    const std::uint64_t found = group.id.load(std::memory_order_relaxed);
    if (found == id) return group.sequence.store(sequence, std::memory_order_release);
    if (found == 0 && !free) free = &group;
  }
  if (!free) return is_crowded.store(true);  // nobody sees this one
  free->sequence.store(sequence, std::memory_order_relaxed);
  free->id.store(id, std::memory_order_release);
}

void ProgressSlot::drop(std::uint64_t id) {
  for (Group& group : groups)
    if (group.id.load(std::memory_order_relaxed) == id) group.id.store(0, std::memory_order_release);
}

std::int64_t ProgressSlot::sequence_of(std::uint64_t id) const {
  for (const Group& group : groups)
    if (group.id.load(std::memory_order_acquire) == id) return group.sequence.load(std::memory_order_acquire);
  return -1;
}

std::int64_t ProgressBoard::bytes_for(std::size_t ranks) {
  return static_cast<std::int64_t>(sizeof(ProgressAlarm) + ranks * sizeof(ProgressSlot));
}

ProgressBoard::ProgressBoard(void* memory, std::vector<int> ranks, std::size_t own)
    : memory_(memory), ranks_(std::move(ranks)), own_(own) {}

ProgressAlarm& ProgressBoard::alarm() const {
  return *std::launder(static_cast<ProgressAlarm*>(memory_));
}

ProgressSlot& ProgressBoard::slot(std::size_t index) const {
  return std::launder(
      reinterpret_cast<ProgressSlot*>(static_cast<char*>(memory_) + sizeof(ProgressAlarm)))[index];
}

}  // namespace ronde::inline v0
