#include "watchdog/job_watchdog.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <ronde/core/machine.h>
#include <ronde/distributed/mpi_communicator.h>
#include <ronde/distributed/values.h>

#include "shm/shared_region.h"
#include "watchdog/process_state.h"

namespace ronde::inline v0 {
namespace {

constexpr double kForOtherRanks = 1.0;  // seconds until they have written their files too

// What the files of a job's ranks on this node begin with.
std::string flight_prefix() {
  const char* wanted = std::getenv("RONDE_FLIGHT_RECORDER");
  if (wanted && *wanted) return cat(wanted, "/ronde-flight-rank-");
  const char* temporary = std::getenv("TMPDIR");
  return cat(temporary && *temporary ? temporary : "/tmp", "/ronde-flight-", getppid(), "-rank-");
}

void write_flight(const std::string& path, const std::string& text) {
  unlink(path.c_str());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return;  // the message has what matters most
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  close(file);
}

void print_line(int rank, const std::string& what, const std::string& message) {
  const std::string line = cat("ronde: ", what, "[rank ", rank, "] ", message, '\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// A launcher kills the other ranks as soon as one ends.
void wait_for_others(const ProgressAlarm& board, std::int32_t listeners) {
  const std::int64_t until = FlightRecorder::now() + static_cast<std::int64_t>(kForOtherRanks * 1e9);
  while (FlightRecorder::now() < until &&
         (board.state.load() < ProgressAlarm::printed || board.dumped.load() < listeners))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Whether the process's parent, mpirun or srun, is there to end the other ranks.
using HasLauncher = std::function<bool()>;

// Nothing of the hung process may run: destructors would wait for what never comes.
[[noreturn]] void leave(bool by_abort) {
  if (by_abort && mpi_is_running() && mpi_overlaps()) abort_mpi_job(ExitStatus::hang);
  _exit(static_cast<int>(ExitStatus::hang));
}

[[noreturn]] void end_process(const Launch& launch, const HangAlarm& alarm, const HasLauncher& has_launcher) {
  write_flight(cat(flight_prefix(), launch.rank, ".txt"), cat(alarm.message, '\n', alarm.flight));
  if (alarm.board) alarm.board->dumped.fetch_add(1);
  if (alarm.speaks) {
    print_line(launch.rank, "", alarm.message);
    if (alarm.board) alarm.board->state.store(ProgressAlarm::printed);
  }
  if (alarm.board) wait_for_others(*alarm.board, alarm.listeners);
  // A launcher would report the first that ends, and that should be this one, with its status.
  for (const int process : has_launcher() ? std::vector<int>() : alarm.silent) {
    const char state = process_state(process);
    if (state == 'T' || state == 'D') kill(process, SIGKILL);
  }
  leave(launch.loses_exits && has_launcher());
}

struct RankPlacement {
  SharedRegion::Ticket ticket;
  std::int32_t node = 0;
  std::array<char, 64> host{};
};

std::vector<RankPlacement> gather_places(Communicator& world, const RankPlacement& own) {
  std::vector<std::uint8_t> bytes(sizeof own);
  std::memcpy(bytes.data(), &own, sizeof own);
  const std::vector<std::uint8_t> all = allgather(world, bytes, "watchdog").wait();
  std::vector<RankPlacement> places(all.size() / sizeof own);
  std::memcpy(static_cast<void*>(places.data()), all.data(), all.size());
  return places;
}

// A board, kept together with its memory.
std::shared_ptr<ProgressBoard> make_board(const std::vector<RankPlacement>& places, int own_rank) {
  const auto own = static_cast<std::size_t>(own_rank);
  std::vector<int> ranks;
  std::size_t index = 0;
  for (std::size_t r = 0; r < places.size(); ++r) {
    if (places[r].node != places[own].node) continue;
    if (r == own) index = ranks.size();
    ranks.push_back(static_cast<int>(r));
  }
  const SharedRegion::Ticket& ticket = places[static_cast<std::size_t>(ranks.front())].ticket;
  if (ticket.bytes == 0) return nullptr;
  struct Kept {
    std::shared_ptr<SharedRegion> region;
    ProgressBoard board;
  };
  const std::shared_ptr<SharedRegion> region = SharedRegion::attach(ticket);
  const auto kept = std::make_shared<Kept>(Kept{region, {region->data(), std::move(ranks), index}});
  return {kept, &kept->board};
}

}  // namespace

std::unique_ptr<Watchdog> start_job_watchdog(const Launch& launch,
                                             const std::optional<Deadlines>& deadlines) {
  if (!deadlines) return nullptr;
  const bool was_launched = !launch.launcher.empty() && launch.launcher != Launch::kByVariables;
  const HasLauncher has_launcher = [was_launched, parent = getppid()] {
    return was_launched && getppid() == parent;
  };
  return std::make_unique<Watchdog>(WatchdogOptions{
      .deadlines = *deadlines,
      .on_alarm = [launch,
                   has_launcher](const HangAlarm& alarm) { end_process(launch, alarm, has_launcher); },
      .advice = cat("; the last operations of each rank: ", flight_prefix(), "*.txt. If that was no hang, ",
                    Deadlines::kVariable, "=SECONDS waits longer"),
      .warn = [rank = launch.rank](const std::string& what) { print_line(rank, "warning: ", what); },
      .is_orphan = [was_launched, has_launcher] { return was_launched && !has_launcher(); }});
}

void watch_world(Watchdog* watchdog, Communicator& world) {
  RankPlacement own{.ticket = {}, .node = world.cross_rank(), .host = {}};
  host_name().copy(own.host.data(), own.host.size() - 1);
  std::shared_ptr<SharedRegion> region;
  try {
    if (world.local_rank() == 0) {
      region = SharedRegion::create(SharedRegion::Kind::anonymous,
                                    ProgressBoard::bytes_for(static_cast<std::size_t>(world.local_size())));
      own.ticket = region->ticket();
    }
  } catch (const Error&) {
    // Then the ranks of this node are watched, but know nothing of each other.
  }
  const std::vector<RankPlacement> places = gather_places(world, own);
  std::shared_ptr<ProgressBoard> board;
  try {
    board = make_board(places, world.rank());
  } catch (const Error&) {
    // As above, for this rank.
  }
  world.barrier("watchdog").wait();
  if (region) region->close_door();
  std::vector<std::string> hosts;
  for (const RankPlacement& place : places) hosts.emplace_back(place.host.data());
  if (watchdog) watchdog->watch(world.flight_recorder(), std::move(board), std::move(hosts));
}

}  // namespace ronde::inline v0
