#include <ronde/models/preemption.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <memory>

#include <ronde/core/clock.h>
#include <ronde/core/counted.h>
#include <ronde/models/save_point.h>

#include "weights/keras_config.h"

namespace ronde::inline v0 {
namespace {

// What ranks tell each other; the highest counts.
enum Notice : int { kNothing, kSave, kTimeIsUp, kEnd, kInterrupt };

constexpr double kReserve = 3.0;       // times what a save takes, and what a step takes
constexpr double kUnknownSave = 2.0;   // seconds, before anything was saved
constexpr double kShortestSave = 0.3;  // in case the disk is slower next time
constexpr std::time_t kSameBreath = 1;  // seconds between two TERMs that are one

// Signals are the process's, so this is too.
std::atomic<int> signalled{kNothing};
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<std::time_t> first_term{0};  // when; 0: none yet

// Whose SIGINT it is, of several trainings in one process.
std::atomic<const Preemption*> interruptible{nullptr};
void (*tell_of_interrupt)() = nullptr;  // set before the handler that calls it
struct sigaction interrupt_before {};

extern "C" void remember_signal(int number) {
  if (number == SIGUSR1) {
    int nothing = kNothing;
    signalled.compare_exchange_strong(nothing, kSave);
    return;
  }
  signalled.store(kEnd);
  if (number != SIGTERM) return;
  // `timeout` sends it to its child, and at once to its process group with the child in it.
  std::time_t before = 0;
  const std::time_t now = std::time(nullptr);
  if (first_term.compare_exchange_strong(before, now) || now - before <= kSameBreath) return;
  std::signal(SIGTERM, SIG_DFL);
  std::raise(SIGTERM);
}

extern "C" void remember_interrupt(int) {
  signalled.store(kInterrupt);
  std::signal(SIGINT, SIG_DFL);
  tell_of_interrupt();
}

void catch_interrupt(const Preemption* owner, void (*tell)()) {
  const Preemption* nobody = nullptr;
  if (tell == nullptr || !interruptible.compare_exchange_strong(nobody, owner)) return;
  tell_of_interrupt = tell;
  struct sigaction action {};
  action.sa_handler = remember_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, nullptr, &interrupt_before);
  if (interrupt_before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
}

void release_interrupt(const Preemption* owner) {
  if (interruptible.load() != owner) return;
  sigaction(SIGINT, &interrupt_before, nullptr);
  interruptible.store(nullptr);
}

const char* reason(int notice) {
  if (notice == kInterrupt) return "interrupted";
  return notice == kEnd ? "told to end by a signal" : "the time is nearly up";
}

}  // namespace

void catch_preemption_signals() {
  first_term.store(0);
  struct sigaction action {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGUSR1, SIGUSR2, SIGTERM}) sigaction(number, &action, nullptr);
}

Preemption::Preemption(PreemptionOptions options) : options_(std::move(options)) {
  require<UsageError>(!options_.filepath.empty(), "[preemption] needs a filepath");
}

Preemption::~Preemption() {
  release_interrupt(this);
}

void Preemption::on_train_begin(Model& model, const TrainingPlan&) {
  require_config_for("preemption", options_.filepath, model.module());
  last_step_ = longest_step_ = 0.0;
  catch_interrupt(this, options_.on_interrupt);
}

// One that came after the last step has nothing left to save, and does what it would have done.
void Preemption::on_train_end(const Logs&) {
  release_interrupt(this);
  int interrupt = kInterrupt;
  if (signalled.compare_exchange_strong(interrupt, kNothing)) std::raise(SIGINT);
}

bool Preemption::is_time(double now) const {
  const double save = save_seconds_ > 0.0 ? std::max(save_seconds_, kShortestSave) : kUnknownSave;
  return options_.end_time > 0.0 && now + kReserve * (save + longest_step_) >= options_.end_time;
}

void Preemption::on_train_batch_end(std::int64_t, const Logs&) {
  int notice = signalled.exchange(kNothing);
  if (options_.end_time > 0.0) {
    const double now = unix_seconds();
    if (last_step_ > 0.0) longest_step_ = std::max(longest_step_, now - last_step_);
    last_step_ = now;
    if (is_time(now)) notice = std::max<int>(notice, kTimeIsUp);
  }
  if (notice != kNothing) model().communicator().raise_notice(notice);
}

void Preemption::on_save_point(SavePoint& point) {
  if (point.last_save_seconds() > 0.0) save_seconds_ = point.last_save_seconds();
  const int notice = model().communicator().take_notice();
  if (notice == kNothing) return;
  const auto outcome = std::make_shared<SaveOutcome>();
  point.save({.path = options_.filepath,
              .on_snapshot = {},
              .on_settled = [outcome](const SaveOutcome& found) { *outcome = found; }});
  if (notice == kSave) return;
  const char* why = reason(notice);
  const ExitStatus status = notice == kInterrupt ? ExitStatus::interrupted : ExitStatus::saved;
  point.then([outcome, why, status, path = options_.filepath, steps = model().progress().steps,
              &ranks = model().communicator()] {
    if (!outcome->written)
      throw CollectiveError(cat("[fit] ", why, ", but what was done could not be saved: ", outcome->problem),
                            ExitStatus::io, ranks, 0);
    throw CollectiveError(cat("[fit] ", why, ": saved ", path, " after ", counted(steps, "step"),
                              "; start it again to go on from there (--resume auto)"),
                          status, ranks, 0);
  });
}

}  // namespace ronde::inline v0
