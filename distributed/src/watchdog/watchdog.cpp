#include "watchdog/watchdog.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include <unistd.h>

#include <ronde/core/signals.h>
#include <ronde/core/text.h>
#include <ronde/core/trace.h>

#include "watchdog/diagnosis.h"
#include "watchdog/process_state.h"

namespace ronde::inline v0 {
namespace {

constexpr double kLooks = 8.0;  // within the deadline
constexpr double kShortestTick = 0.01, kLongestTick = 0.25;
constexpr double kShortestWarning = 6.0;  // seconds; a warning comes at a tenth of the deadline
constexpr double kSilentTicks = 6.0, kLeastSilence = 0.5;
constexpr double kForOtherNodes = 0.5;  // seconds that a node waits whose ranks are not to blame

}  // namespace

struct Watchdog::State {
  explicit State(WatchdogOptions from) : options(std::move(from)) {
    tick = std::clamp(options.deadlines.shortest() / kLooks, kShortestTick, kLongestTick);
    silence = static_cast<std::int64_t>(std::max(kLeastSilence, kSilentTicks * tick) * 1e9);
  }

  // Seconds of this thread's time that something has taken which has a number.
  struct Wait {
    std::int64_t number = 0;
    double seconds = 0.0;
    double excused = 0.0;  // of these, while the late rank was in work that has a deadline of its own
    double in_work = 0.0;  // of these, in the present one
    bool is_warned = false;
    double add(std::int64_t now_number, double dt) {
      if (number != now_number) *this = {.number = now_number};
      return seconds += dt;
    }
  };

  void look(double dt);
  void look_at_operations(double dt);
  void judge(const FlightRecorder::Pending& pending, Wait& wait, double dt);
  void raise(const std::string& message, std::size_t speaker);
  void hear();
  void leave_orphaned();
  std::string flight() const { return recorder ? recorder->dump() : "the ranks had not come together\n"; }
  bool is_debugged(const std::vector<LateRank>& late);
  WatchedWork work_of(const std::vector<LateRank>& late) const;

  WatchdogOptions options;
  double tick = kLongestTick;
  std::int64_t silence = 0;

  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  int pauses = 0;
  std::shared_ptr<FlightRecorder> recorder;
  std::shared_ptr<ProgressBoard> board;
  std::vector<std::string> hosts;

  // The thread's own.
  std::map<std::uint64_t, Wait> waits;  // by communicator
  Wait phase, start;
  bool is_alarmed = false;
  bool told_of_debugger = false;
};

Watchdog::Watchdog(WatchdogOptions options)
    : state_(std::make_unique<State>(std::move(options))), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  if (!process_.is_here()) {
    leak(std::move(state_));
    leak(std::move(thread_));
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_over = true;
    state_->changed.notify_all();
  }
  thread_.join();
}

void Watchdog::watch(std::shared_ptr<FlightRecorder> recorder, std::shared_ptr<ProgressBoard> board,
                     std::vector<std::string> hosts) {
  if (recorder && board) {
    ProgressSlot& slot = board->slot(board->own());
    slot.beat.store(FlightRecorder::now());
    slot.process.store(getpid());
    recorder->publish_in(slot, board);
  }
  const std::lock_guard lock(state_->mutex);
  state_->recorder = std::move(recorder);
  state_->board = std::move(board);
  state_->hosts = std::move(hosts);
}

void Watchdog::pause() {
  const std::lock_guard lock(state_->mutex);
  if (++state_->pauses == 1 && state_->recorder) state_->recorder->begin_pause();
}

void Watchdog::resume() {
  const std::lock_guard lock(state_->mutex);
  if (--state_->pauses == 0 && state_->recorder) state_->recorder->end_pause();
}

bool Watchdog::is_alarmed() const {
  const std::lock_guard lock(state_->mutex);
  const auto& board = state_->board;
  return state_->is_alarmed || (board && board->alarm().state.load() >= ProgressAlarm::raised);
}

// See Note [Whose time].
void Watchdog::run() {
  block_signals();
  name_trace_thread("watchdog");
  State& state = *state_;
  std::int64_t before = FlightRecorder::now();
  for (;;) {
    {
      std::unique_lock lock(state.mutex);
      // Through the system clock, whose timed wait ThreadSanitizer of gcc 12 can follow.
      const auto until =
          std::chrono::system_clock::now() + std::chrono::microseconds(std::int64_t(state.tick * 1e6));
      if (state.changed.wait_until(lock, until, [&] { return state.is_over; })) return;
    }
    const std::int64_t now = FlightRecorder::now();
    state.look(std::min(static_cast<double>(now - before) * 1e-9, 2.0 * state.tick));
    if (state.is_alarmed) return;
    before = now;
  }
}

void Watchdog::State::look(double dt) {
  const std::lock_guard lock(mutex);
  if (recorder) recorder->beat();
  if (board) {
    board->slot(board->own()).beat.store(FlightRecorder::now(), std::memory_order_relaxed);
    if (board->alarm().state.load(std::memory_order_acquire) >= ProgressAlarm::raised) return hear();
  }
  if (options.is_orphan && options.is_orphan()) return leave_orphaned();
  if (pauses > 0) {
    waits.clear();
    phase = start = {};
  } else if (recorder) {
    look_at_operations(dt);
  } else if (start.add(0, dt) > options.deadlines.start) {
    raise(cat("the ranks have not come together within ", seconds_text(start.seconds),
              ": one of them was not started, or cannot reach the others"),
          0);
  }
}

void Watchdog::State::look_at_operations(double dt) {
  const FlightRecorder::Phase now = recorder->phase();
  if (now.number > 0 && phase.add(now.number, dt) > options.deadlines.of(now.work)) {
    const std::size_t own = board ? board->own() : 0;
    return raise(cat(board ? cat("rank ", board->rank(own)) : std::string("this rank"), " (process ",
                     getpid(), ") has been ", describe(now.work), " for ", seconds_text(phase.seconds)),
                 own);
  }
  std::map<std::uint64_t, Wait> still;
  for (const FlightRecorder::Pending& pending : recorder->pending()) {
    Wait& wait = still[pending.id] = waits[pending.id];
    wait.add(pending.operation.sequence, dt);
    if (!is_alarmed) judge(pending, wait, dt);
  }
  waits = std::move(still);
}

// See Note [Whose deadline].
void Watchdog::State::judge(const FlightRecorder::Pending& pending, Wait& wait, double dt) {
  const std::vector<LateRank> late = board ? find_late(*board, pending, silence) : std::vector<LateRank>();
  const WatchedWork work = work_of(late);
  wait.in_work = work == WatchedWork::none ? 0.0 : wait.in_work + dt;
  if (work != WatchedWork::none) wait.excused += dt;
  const double counted = work == WatchedWork::none ? wait.seconds - wait.excused : wait.in_work;
  const double deadline = late.empty() ? options.deadlines.longest() : options.deadlines.of(work);
  const double warning = deadline / 10.0;
  const bool is_late = counted > deadline;
  const bool warns = !wait.is_warned && warning >= kShortestWarning && counted > warning;
  if (!is_late && !warns) return;
  if (is_debugged(late)) {
    wait = {};
    return;
  }
  const std::string message = board ? describe_hang(*board, late, pending, wait.seconds, hosts)
                                    : cat("this rank has waited for ", seconds_text(wait.seconds), " in ",
                                          describe(pending.operation));
  const std::size_t speaker = board ? find_speaker(*board, late) : 0;
  wait.is_warned = true;
  if (!is_late) {
    if (options.warn && (!board || speaker == board->own())) options.warn(message);
    return;
  }
  if (late.empty() && !hosts.empty())
    std::this_thread::sleep_for(std::chrono::duration<double>(kForOtherNodes));
  raise(message, speaker);
}

// Of the late ranks' work, that with the longest deadline.
WatchedWork Watchdog::State::work_of(const std::vector<LateRank>& late) const {
  WatchedWork longest = WatchedWork::none;
  for (const LateRank& one : late) {
    const WatchedWork work = board->slot(one.index).work.load(std::memory_order_relaxed);
    const bool is_longer = options.deadlines.of(work) > options.deadlines.of(longest);
    if (work != WatchedWork::none && (longest == WatchedWork::none || is_longer)) longest = work;
  }
  return longest;
}

bool Watchdog::State::is_debugged(const std::vector<LateRank>& late) {
  const auto found = std::find_if(late.begin(), late.end(), [&](const LateRank& one) {
    return is_traced(board->slot(one.index).process.load());
  });
  if (found == late.end()) return false;
  if (!told_of_debugger && options.warn && find_speaker(*board, late) == board->own())
    options.warn(cat("rank ", board->rank(found->index), " is in a debugger: the watchdog waits"));
  told_of_debugger = true;
  return true;
}

// Also for those that are stopped, and cannot see it themselves.
void Watchdog::State::leave_orphaned() {
  is_alarmed = true;
  HangAlarm alarm{.message = "watchdog: the launcher is gone", .flight = flight()};
  if (board) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(silence));
    alarm.silent = find_silent_processes(*board, silence);
  }
  options.on_alarm(alarm);
}

// See Note [Alarm].
void Watchdog::State::raise(const std::string& message, std::size_t speaker) {
  const std::string text = cat("watchdog: ", message, options.advice);
  if (!board) {
    is_alarmed = true;
    return options.on_alarm({.message = text, .flight = flight(), .speaks = true});
  }
  ProgressAlarm& alarm = board->alarm();
  std::int32_t nothing = ProgressAlarm::none;
  if (alarm.state.compare_exchange_strong(nothing, ProgressAlarm::writing)) {
    alarm.text.fill('\0');
    text.copy(alarm.text.data(), alarm.text.size() - 1);
    alarm.speaker.store(static_cast<std::int32_t>(speaker));
    alarm.state.store(ProgressAlarm::raised, std::memory_order_release);
  }
  if (alarm.state.load(std::memory_order_acquire) >= ProgressAlarm::raised) hear();
}

void Watchdog::State::hear() {
  is_alarmed = true;
  ProgressAlarm& alarm = board->alarm();
  std::vector<int> silent = find_silent_processes(*board, silence);
  const auto listeners = static_cast<std::int32_t>(board->size() - silent.size());
  options.on_alarm({.message = alarm.text.data(),
                    .flight = flight(),
                    .speaks = alarm.speaker.load() == static_cast<std::int32_t>(board->own()),
                    .silent = std::move(silent),
                    .board = &alarm,
                    .listeners = listeners});
}

}  // namespace ronde::inline v0
