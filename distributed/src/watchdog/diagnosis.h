/// Which rank of this node the others wait for, and how to say it.
#pragma once

#include <string>
#include <vector>

#include "watchdog/flight_recorder.h"
#include "watchdog/progress_board.h"

namespace ronde::inline v0 {

struct LateRank {
  std::size_t index = 0;      ///< on the board
  std::int64_t sequence = 0;  ///< of the last operation that it has come to
  bool is_silent = false;     ///< its watchdog has not been awake for a while: the whole process stands still
};

/// Those that have not come to the operation, or stand still in the middle of it. `silence`: nanoseconds.
std::vector<LateRank> find_late(const ProgressBoard& board, const FlightRecorder::Pending& pending,
                                std::int64_t silence);
/// The first that is not late; the own one if there is none.
std::size_t find_speaker(const ProgressBoard& board, const std::vector<LateRank>& late);
/// Those of the board that stand still, whatever they are in.
std::vector<int> find_silent_processes(const ProgressBoard& board, std::int64_t silence);

/// "rank 2 (process 4711) is stopped (SIGSTOP) after #12 in step 3; the others have waited for 600 s in
/// allreduce #13 of bucket 0: ..." `hosts`: of all ranks of the world.
std::string describe_hang(const ProgressBoard& board, const std::vector<LateRank>& late,
                          const FlightRecorder::Pending& pending, double seconds,
                          const std::vector<std::string>& hosts);
/// "600 s", "1.5 s"
std::string seconds_text(double seconds);

}  // namespace ronde::inline v0
