#include "shm/node_group.h"

#include <chrono>
#include <new>
#include <thread>

#include <ronde/core/error.h>
#include <ronde/core/whole_numbers.h>

#include "shm/futex.h"
#include "transport/rank_left.h"

namespace ronde::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPage = 4096;
constexpr double kEagerSeconds = 30e-6;  // about what falling asleep and waking up take
constexpr double kNapSeconds = 0.05;     // between two looks for peers that died

}  // namespace

// Zeros are its initial state. Each word on a cache line of its own.
struct NodeGroup::Header {
  alignas(64) std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint32_t> generation;  // of arrivals; what ranks sleep on
  alignas(64) std::atomic<std::uint32_t> sleepers;
  alignas(64) std::atomic<std::int32_t> gone;  // 1 + the first rank that left, or minus that if it died
};

std::int64_t NodeGroup::bytes_for(int size) {
  const auto head = static_cast<std::int64_t>(sizeof(Header) + sizeof(Slot) * static_cast<std::size_t>(size));
  return round_up(head, kPage) + size * kStages * kStageBytes;
}

NodeGroup::NodeGroup(std::shared_ptr<SharedRegion> region, int rank, std::vector<int> processes,
                     std::function<void()> idle)
    : region_(std::move(region)),
      rank_(rank),
      processes_(std::move(processes)),
      size_(static_cast<int>(processes_.size())),
      idle_(std::move(idle)) {
  // With more ranks than cores the one that is awaited may need the core that waiting would take.
  eager_ = size_ <= static_cast<int>(std::thread::hardware_concurrency()) ? kEagerSeconds : 0.0;
  arrive();
}

NodeGroup::~NodeGroup() {
  mark_gone(rank_ + 1);
}

NodeGroup::Header& NodeGroup::header() const {
  return *std::launder(reinterpret_cast<Header*>(region_->data()));
}

NodeGroup::Slot& NodeGroup::slot(int rank) const {
  return std::launder(reinterpret_cast<Slot*>(region_->data() + sizeof(Header)))[rank];
}

char* NodeGroup::stage(int rank, std::uint64_t turn) const {
  const std::int64_t index = rank * kStages + static_cast<std::int64_t>(turn % kStages);
  return region_->data() + region_->bytes() - (size_ * kStages - index) * kStageBytes;
}

void NodeGroup::check_peers() const {
  if (const std::int32_t mark = header().gone.load(std::memory_order_acquire)) throw_gone(mark);
}

void NodeGroup::arrive(const std::function<void()>& last) {
  // Who has left, and calls that failed because of it, must not add up to a meeting.
  check_peers();
  Header& h = header();
  const std::uint32_t generation = h.generation.load(std::memory_order_acquire);
  if (h.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
    h.arrived.store(0, std::memory_order_relaxed);
    if (last) last();
    // Either this sees a sleeper, or the sleeper sees the new generation and does not fall asleep.
    h.generation.fetch_add(1);
    if (h.sleepers.load() > 0) futex_wake(h.generation);
    return;
  }
  if (eager_ > 0.0) {
    const auto until = Clock::now() + std::chrono::duration<double>(eager_);
    do {
      if (h.generation.load(std::memory_order_acquire) != generation) return;
    } while (Clock::now() < until);
  }
  sleep_through(generation);
}

void NodeGroup::sleep_through(std::uint32_t generation) {
  Header& h = header();
  h.sleepers.fetch_add(1);
  for (;;) {
    // Looked at first: a rank that leaves after this meeting has seen the end of it.
    const std::int32_t mark = h.gone.load();
    if (h.generation.load() != generation) break;
    if (mark != 0) throw_gone(mark);
    const auto asleep = Clock::now();
    futex_sleep(h.generation, generation, kNapSeconds);
    if (Clock::now() - asleep >= std::chrono::duration<double>(kNapSeconds)) look_around();
  }
  h.sleepers.fetch_sub(1);
}

void NodeGroup::look_around() {
  if (idle_) idle_();
  if (!watch_) watch_ = std::make_unique<PeerWatch>(processes_);
  if (const int dead = watch_->find_dead(); dead >= 0) mark_gone(-(dead + 1));
}

void NodeGroup::mark_gone(std::int32_t mark) {
  std::int32_t nobody = 0;
  header().gone.compare_exchange_strong(nobody, mark);
  futex_wake(header().generation);
}

void NodeGroup::throw_gone(std::int32_t mark) const {
  const int rank = (mark > 0 ? mark : -mark) - 1;
  // A dead rank reports nothing, so its error is not one of the ranks' but of whoever notices.
  if (mark < 0) throw RankGone(cat("[distributed] rank ", rank, " (process ", process(rank), ") has died"));
  throw RankLeft(rank);
}

}  // namespace ronde::inline v0
