#include "cuda/emulated/grid.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace ronde::test {

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

std::vector<Dim3> places_in(Dim3 size) {
  std::vector<Dim3> result;
  for (unsigned z = 0; z < size.z; ++z)
    for (unsigned y = 0; y < size.y; ++y)
      for (unsigned x = 0; x < size.x; ++x) result.emplace_back(x, y, z);
  return result;
}

class Grid : public BlockAtWork {
 public:
  void run(Dim3 blocks, Dim3 threads, const std::function<void()>& kernel);
  std::uint64_t wait(const Thread& how);

 private:
  static void enter();
  void work();
  void run_block();
  void resume(Fiber& fiber);
  Fiber& idle_fiber();
  void release_waiting();
  bool release_block();
  bool release_warp(unsigned first);

  const std::function<void()>* kernel_ = nullptr;
  std::mt19937 random_;
  std::vector<Thread> threads_;
  std::vector<Dim3> places_;
  std::vector<unsigned> order_;  // in which the threads of a block start
  std::vector<unsigned> to_resume_;
  std::size_t started_ = 0;
  unsigned running_ = 0;  // threads that have not ended
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* at_work_ = nullptr;
};

thread_local Grid grid_of_host_thread;

Grid& own_grid() {
  return static_cast<Grid&>(*at_work().of);
}

void Grid::enter() {
  grid_of_host_thread.work();
}

// A fiber takes one thread after the other: those that never wait cost no switch.
void Grid::work() {
  ThreadAtWork& mine = at_work();
  for (;;) {
    while (started_ < order_.size()) {
      const unsigned thread = order_[started_++];
      mine = {this, places_[thread], thread};
      (*kernel_)();
      --running_;
    }
    idle_.push_back(at_work_);
    at_work_->pause();
  }
}

Fiber& Grid::idle_fiber() {
  if (idle_.empty()) return *fibers_.emplace_back(std::make_unique<Fiber>(&Grid::enter));
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Grid::resume(Fiber& fiber) {
  at_work_ = &fiber;
  fiber.resume();
}

std::uint64_t Grid::wait(const Thread& how) {
  Thread& me = threads_[at_work().number];
  me = how;
  me.fiber = at_work_;
  at_work_->pause();
  return me.value;
}

bool Grid::release_block() {
  if (running_ != threads_.size() || std::any_of(threads_.begin(), threads_.end(),
                                                 [](const Thread& t) { return t.waits != Wait::for_block; }))
    return false;
  for (unsigned i = 0; i < threads_.size(); ++i) to_resume_.push_back(i);
  return true;
}

// Each lane that waits gets its value when all those that it named wait too, for the same ones.
bool Grid::release_warp(unsigned first) {
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

void Grid::release_waiting() {
  if (release_block()) return;
  bool releases = false;
  for (unsigned first = 0; first < threads_.size(); first += kWarp) releases |= release_warp(first);
  if (releases) return;
  fibers_.clear();  // what waits on them never goes on
  idle_.clear();
  throw Deadlock("of a block of " + std::to_string(threads_.size()) + " threads, " +
                 std::to_string(running_) + " wait for others that have ended or wait for something else");
}

// Each block starts elsewhere in the grid's order: to draw another one would take longer than most kernels.
void Grid::run_block() {
  const auto first = static_cast<std::ptrdiff_t>(random_() % order_.size());
  std::rotate(order_.begin(), order_.begin() + first, order_.end());
  started_ = 0;
  running_ = static_cast<unsigned>(order_.size());
  while (running_ > 0) {
    if (started_ < order_.size()) {
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

void Grid::run(Dim3 blocks, Dim3 of_block, const std::function<void()>& kernel) {
  kernel_ = &kernel;
  grid = blocks;
  threads = of_block;
  waited = 0;
  threads_.assign(threads.count(), {});
  places_ = places_in(threads);
  order_.resize(threads.count());
  std::iota(order_.begin(), order_.end(), 0u);
  std::shuffle(order_.begin(), order_.end(), random_);
  to_resume_.clear();
  for (const Dim3& place : places_in(blocks)) {
    block = place;
    run_block();
  }
}

}  // namespace

void run_grid(Dim3 blocks, Dim3 threads, const std::function<void()>& kernel) {
  grid_of_host_thread.run(blocks, threads, kernel);
}

void run_waiting_grid(Dim3 blocks, Dim3 threads, const std::function<void()>& kernel) {
  run_grid(blocks, threads, kernel);
  if (grid_of_host_thread.waited != std::uint64_t{blocks.count()} * threads.count())
    throw std::logic_error("a kernel does not wait for those before it: begin_kernel()");
}

void wait_for_block() {
  own_grid().wait({.waits = Wait::for_block});
}

std::uint64_t exchange_in_warp(std::uint32_t mask, std::uint64_t value, unsigned from) {
  return own_grid().wait({.waits = Wait::for_warp, .mask = mask, .value = value, .from = from % kWarp});
}

std::uint32_t vote_in_warp(std::uint32_t mask, bool value) {
  return static_cast<std::uint32_t>(
      own_grid().wait({.waits = Wait::for_warp, .mask = mask, .value = value, .from = kAllVotes}));
}

}  // namespace ronde::test
