/// The thread behind `ronde/distributed/watchdog.h`: looks, a few times within the deadline, whether this
/// rank has been in one operation or one phase for too long, finds out which rank is to blame, and raises an
/// alarm that all ranks of the node see.
///
/// Note [Whose time]: what counts is the time in which this thread itself was awake; a pause between two
/// looks counts as at most two of them. So a process that was stopped and continued has not waited meanwhile.
///
/// Note [Whose deadline]: time in which the late rank is in work that has a deadline of its own counts
/// towards that one, not towards the operation's: when it comes out of a long wait for its data, it has the
/// operation's whole deadline to reach it.
///
/// Note [Alarm]: the first rank of a node whose deadline has passed writes the alarm onto the board, with the
/// message. Every rank of the node that is alive sees it at its next look and calls `on_alarm`, one of them
/// as the speaker: the lowest that is not late. Nodes know nothing of each other: where no rank is late, the
/// message says which ranks of other nodes are waited for, after those that know better.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transport/own_process.h"
#include "watchdog/deadlines.h"
#include "watchdog/flight_recorder.h"
#include "watchdog/progress_board.h"

namespace ronde::inline v0 {

/// What a watchdog knows when the deadline has passed.
struct HangAlarm {
  std::string message;             ///< without the rank that says it
  std::string flight = {};         ///< what this rank did last
  bool speaks = false;             ///< whether this rank shows the message
  std::vector<int> silent = {};    ///< this node's processes that do nothing at all
  ProgressAlarm* board = nullptr;  ///< of the node; nullptr: there is none
  std::int32_t listeners = 1;      ///< ranks of the node that hear of it
};

struct WatchdogOptions {
  Deadlines deadlines = {};
  std::function<void(const HangAlarm&)> on_alarm;
  std::string advice = {};  ///< ends the message
  /// Told when another rank has kept this one waiting for a tenth of the deadline, on the speaker only.
  std::function<void(const std::string&)> warn;
  /// Whether the job has ended without this rank: then it ends too, saying nothing.
  std::function<bool()> is_orphan;
};

class Watchdog {
 public:
  /// Watches the start-up until `watch` is called.
  explicit Watchdog(WatchdogOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// `recorder`: this rank's; `board` is kept by `keep`, and may be nullptr. `hosts`: of each rank.
  void watch(std::shared_ptr<FlightRecorder> recorder, std::shared_ptr<ProgressBoard> board,
             std::vector<std::string> hosts);
  /// Until as many calls of `resume`.
  void pause();
  void resume();
  /// Whether a rank of this node ends the job.
  bool is_alarmed() const;

 private:
  struct State;
  void run();
  OwnProcess process_;
  std::unique_ptr<State> state_;
  std::thread thread_;
};

}  // namespace ronde::inline v0
