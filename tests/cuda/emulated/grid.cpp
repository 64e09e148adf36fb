#include "cuda/emulated/grid.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cuda/emulated/fiber.h"

namespace ronde::test {

constinit thread_local AtWork at_work;

namespace {

constexpr unsigned kAllVotes = kWarp;  // no lane

enum class Wait : std::uint8_t { none, for_block, for_warp };

// A fiber runs threads one after the other; while one of them waits, it is that thread's own.
struct Thread {
  Fiber* fiber = nullptr;
  Wait waits = Wait::none;
  std::uint32_t mask = 0;
  std::uint64_t value = 0;
  unsigned from = 0;
};

class Block {
 public:
  void run(Dim3 threads, const std::function<void()>& kernel);
  void wait(const Thread& how);
  std::uint64_t received() const { return threads_[current_].value; }
  unsigned current() const { return current_; }

 private:
  static void enter();
  void work();
  void become(unsigned thread);
  void resume(Fiber& fiber);
  Fiber& idle_fiber();
  void release_waiting();
  bool release_block();
  bool release_warp(unsigned first);

  const std::function<void()>* kernel_ = nullptr;
  std::mt19937 random_;
  std::vector<Thread> threads_;
  std::vector<unsigned> to_start_, to_resume_;
  unsigned running_ = 0;  // threads that have not ended
  unsigned current_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* at_work_ = nullptr;
};

thread_local Block block;

void Block::become(unsigned thread) {
  current_ = thread;
  const Dim3& size = at_work.threads;
  at_work.thread = {thread % size.x, thread / size.x % size.y, thread / (size.x * size.y)};
}

void Block::enter() {
  block.work();
}

// A fiber takes one thread after the other: those that never wait cost no switch.
void Block::work() {
  for (;;) {
    while (!to_start_.empty()) {
      become(to_start_.back());
      to_start_.pop_back();
      (*kernel_)();
      --running_;
    }
    idle_.push_back(at_work_);
    at_work_->pause();
  }
}

Fiber& Block::idle_fiber() {
  if (idle_.empty()) return *fibers_.emplace_back(std::make_unique<Fiber>(&Block::enter));
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Block::resume(Fiber& fiber) {
  at_work_ = &fiber;
  fiber.resume();
}

void Block::wait(const Thread& how) {
  const unsigned me = current_;
  threads_[me] = how;
  threads_[me].fiber = at_work_;
  at_work_->pause();
  become(me);
}

bool Block::release_block() {
  if (running_ != threads_.size() || std::any_of(threads_.begin(), threads_.end(),
                                                 [](const Thread& t) { return t.waits != Wait::for_block; }))
    return false;
  for (unsigned i = 0; i < threads_.size(); ++i) to_resume_.push_back(i);
  return true;
}

// Each lane that waits gets its value when all those that it named wait too, for the same ones.
bool Block::release_warp(unsigned first) {
  const auto lanes = static_cast<unsigned>(std::min<std::size_t>(kWarp, threads_.size() - first));
  std::uint32_t waiting = 0;
  for (unsigned i = 0; i < lanes; ++i)
    if (threads_[first + i].waits == Wait::for_warp) waiting |= 1u << i;
  if (waiting == 0) return false;
  std::array<std::uint64_t, kWarp> values{};
  std::uint32_t votes = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    values[i] = threads_[first + i].value;
    if (values[i] != 0) votes |= 1u << i;
  }
  bool releases = false;
  for (unsigned i = 0; i < lanes; ++i) {
    Thread& thread = threads_[first + i];
    const bool all_wait = (thread.mask & ~waiting) == 0;
    if (thread.waits != Wait::for_warp || !all_wait || (thread.mask >> i & 1) == 0 ||
        (thread.from != kAllVotes && (thread.mask >> thread.from & 1) == 0))
      continue;
    thread.value = thread.from == kAllVotes ? votes & thread.mask : values[thread.from];
    to_resume_.push_back(first + i);
    releases = true;
  }
  return releases;
}

void Block::release_waiting() {
  if (release_block()) return;
  bool releases = false;
  for (unsigned first = 0; first < threads_.size(); first += kWarp) releases |= release_warp(first);
  if (releases) return;
  fibers_.clear();  // what waits on them never goes on
  idle_.clear();
  throw Deadlock("of a block of " + std::to_string(threads_.size()) + " threads, " +
                 std::to_string(running_) + " wait for others that have ended or wait for something else");
}

void Block::run(Dim3 threads, const std::function<void()>& kernel) {
  kernel_ = &kernel;
  threads_.assign(threads.count(), {});
  running_ = threads.count();
  to_start_.resize(threads.count());
  std::iota(to_start_.begin(), to_start_.end(), 0u);
  std::shuffle(to_start_.begin(), to_start_.end(), random_);
  to_resume_.clear();
  while (running_ > 0) {
    if (!to_start_.empty()) {
      resume(idle_fiber());
    } else {
      if (to_resume_.empty()) {
        release_waiting();
        std::shuffle(to_resume_.begin(), to_resume_.end(), random_);
      }
      Thread& next = threads_[to_resume_.back()];
      to_resume_.pop_back();
      next.waits = Wait::none;
      resume(*next.fiber);
    }
  }
}

}  // namespace

void run_grid(Dim3 blocks, Dim3 threads, const std::function<void()>& kernel) {
  at_work.grid = blocks;
  at_work.threads = threads;
  for (unsigned z = 0; z < blocks.z; ++z)
    for (unsigned y = 0; y < blocks.y; ++y)
      for (unsigned x = 0; x < blocks.x; ++x) {
        at_work.block = {x, y, z};
        block.run(threads, kernel);
      }
}

void run_waiting_grid(Dim3 blocks, Dim3 threads, const std::function<void()>& kernel) {
  at_work.waited = 0;
  run_grid(blocks, threads, kernel);
  if (at_work.waited != std::uint64_t{blocks.count()} * threads.count())
    throw std::logic_error("a kernel does not wait for those before it: begin_kernel()");
}

void wait_for_block() {
  block.wait({.waits = Wait::for_block});
}

unsigned lane() {
  return block.current() % kWarp;
}

std::uint64_t exchange_in_warp(std::uint32_t mask, std::uint64_t value, unsigned from) {
  block.wait({.waits = Wait::for_warp, .mask = mask, .value = value, .from = from % kWarp});
  return block.received();
}

std::uint32_t vote_in_warp(std::uint32_t mask, bool value) {
  block.wait({.waits = Wait::for_warp, .mask = mask, .value = value, .from = kAllVotes});
  return static_cast<std::uint32_t>(block.received());
}

}  // namespace ronde::test
