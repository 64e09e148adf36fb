#include <ronde/distributed/runtime.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <unistd.h>

#include <ronde/core/backend.h>
#include <ronde/distributed/allreduce_path.h>
#include <ronde/distributed/mpi_communicator.h>
#include <ronde/distributed/objects.h>
#include <ronde/distributed/self_communicator.h>
#include <ronde/distributed/tcp_communicator.h>
#include <ronde/distributed/timeline.h>
#include <ronde/distributed/watchdog.h>

#include "launch/cores.h"
#include "launch/launch.h"
#include "start_settings.h"
#include "transport/own_process.h"
#include "transport/rank_left.h"
#include "watchdog/flight_recorder.h"
#include "watchdog/heartbeat.h"
#include "watchdog/job_watchdog.h"

namespace ronde::inline v0 {
namespace {

constexpr double kAnswerPatience = 10.0;  // seconds for messages of ranks that are there, at the start
constexpr double kSpeakingTime = 0.3;     // seconds for the rank that reports what is wrong on all
constexpr double kPatience = 3.0;         // seconds a failing rank waits until the others hear of it

// The world of this process. One per process by nature, as the process is one rank.
class World {
 public:
  // Left open until exit: the other ranks hear that this one ended, should they still want something of it.
  ~World() {
    const bool is_closed = !is_here() || (communicator->name() == "mpi" && !mpi_is_running());
    if (is_closed) return;
    try {
      communicator->conclude({});
    } catch (const std::exception&) {
      // They were told; there is nobody left here to tell.
    }
  }
  // Before the communicator, whose end it watches too.
  void close() {
    communicator.reset();
    watchdog.reset();
  }
  // Not so in the child of a fork, which is no rank: it may compute, and tells nobody when it ends.
  bool is_here() const { return communicator && process.is_here(); }
  OwnProcess process;  // that the communicator is of
  std::unique_ptr<Watchdog> watchdog;
  std::unique_ptr<Communicator> communicator;
  std::mutex changing;  // held by init and shutdown, which several threads may call
};

World& the_world() {
  static World world;
  return world;
}

// Wrong on all ranks alike, so that one may report it.
[[noreturn]] void refuse_launch(const std::string& message) {
  throw CollectiveError(message, ExitStatus::usage, 0);
}

// The same error on every rank, that of the lowest which has a mistake to tell of.
[[noreturn]] void refuse_settings(Communicator& communicator, const std::string& mistake) {
  communicator.conclude({.status = ExitStatus::usage, .message = mistake, .patience = kPatience});
  throw UsageError(mistake);  // there was nobody to tell
}

std::unique_ptr<Communicator> make_world(const Launch& launch, double patience) {
  require<UsageError>(launch.problem.empty(), launch.problem);
  const bool is_alone = launch.size == 1 && !mpi_is_running();
  if (is_alone) allreduce_path_from_environment();  // it needs none, but a mistake shows at once
  if (launch.needs_tcp()) {
    return make_tcp_communicator({.rank = launch.rank,
                                  .size = launch.size,
                                  .rendezvous = launch.rendezvous,
                                  .token = launch.token,
                                  .iface = launch.iface,
                                  .patience = patience});
  }
  if (!launch.needs_mpi() && !mpi_is_running()) return std::make_unique<SelfCommunicator>();
  if (!has_mpi()) {
    refuse_launch(cat("started by ", launch.launcher,
                      " as one of several ranks, but this build of Ronde has no MPI; on "
                      "Debian: apt-get install libopenmpi-dev, then build again"));
  }
  std::unique_ptr<Communicator> world = make_mpi_communicator();
  if (launch.size > 1 && world->size() == 1) {
    refuse_launch(
        cat(launch.launcher, " started ", launch.size, " processes, but ", mpi_library_version(),
            ", which this build of Ronde uses, sees only one: each would train alone. Start it with "
            "the mpirun of that MPI (`ronde run` takes $RONDE_MPIEXEC), with Slurm: srun --mpi=pmix "
            "or pmi2"));
  }
  return world;
}

// `fair`: what they are unless the environment says something else.
int thread_count(int fair) {
  const char* wish = std::getenv("RONDE_THREADS");
  if (!wish || !*wish) return fair;
  int threads = 0;
  const char* end = wish + std::strlen(wish);
  const auto parsed = std::from_chars(wish, end, threads);
  require<UsageError>(parsed.ptr == end && threads >= 1, "RONDE_THREADS expects a number of threads, got ",
                      wish);
  return threads;
}

// One line, written at once.
void report(const std::string& message, int rank, bool is_alone) {
  const std::string line =
      is_alone ? cat("ronde: ", message, '\n') : cat("ronde: [rank ", rank, "] ", message, '\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void report(const std::string& message, const Communicator& communicator) {
  report(message, communicator.rank(), communicator.size() == 1);
}

// A watchdog that ends the job kills stopped ranks. Their death is no error of its own: the watchdog's thread
// ends this process too, with its own status.
void leave_to_watchdog() {
  const Watchdog* const watchdog = the_world().is_here() ? the_world().watchdog.get() : nullptr;
  for (int i = 0; i < 1000 && watchdog && watchdog->is_alarmed(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// Before there was a world, and so nobody to tell. A launcher ends all when the first leaves: not before one
// has spoken for all.
void report_without_world(const Ending& ending) {
  const Launch launch = read_launch();
  if (ending.rank >= 0 && ending.rank != launch.rank && launch.needs_mpi())
    std::this_thread::sleep_for(std::chrono::duration<double>(kSpeakingTime));
  if (ending.rank < 0 || ending.rank == launch.rank)
    report(ending.message, launch.rank, launch.launcher.empty());
}

// Tells the other ranks of this rank's error and reports it, unless another rank does. Returns the status of
// the job; empty: they do not hear of it.
std::optional<ExitStatus> tell_all_ranks(Communicator& communicator, const Ending& ending) {
  try {
    if (!communicator.conclude(ending)) return {};  // they are busy, or hang
    report(ending.message, communicator);
    return ending.status;
  } catch (const RankLeft&) {
    return {};  // who would report it has left, perhaps by the end of its process
  } catch (const CollectiveError& first) {
    if (first.rank() == communicator.rank()) report(first.what(), communicator);
    return first.status();
  } catch (const std::exception&) {
    return {};  // the communicator itself is broken
  }
}

// Returns the status of the job. Ranks that do not hear of the error are aborted.
int end_in_failure(Ending ending) {
  leave_to_watchdog();
  ending.patience = kPatience;
  const auto own_status = static_cast<int>(ending.status);
  Communicator* communicator = the_world().communicator.get();
  if (!communicator) {
    report_without_world(ending);
    return own_status;
  }
  if (!the_world().is_here()) {
    report(cat("child of a fork: ", ending.message), *communicator);
    return own_status;
  }
  const std::optional<ExitStatus> status = tell_all_ranks(*communicator, ending);
  if (!status) {
    report(ending.message, *communicator);
    // What ends the job: MPI, or the others' seeing that this process is gone.
    if (mpi_is_running()) abort_mpi_job(ending.status);
    std::_Exit(own_status);
  }
  the_world().close();
  return static_cast<int>(*status);
}

// As rank 0's environment says: a launcher need not take it to other machines.
TimelineOptions wanted_timeline(Communicator& communicator) {
  TimelineOptions own;
  collectively(communicator, [&] {
    if (communicator.rank() == 0) own = timeline_from_environment().value_or(TimelineOptions{});
  });
  const std::pair options(own.path, std::pair(own.steps, own.max_bytes));
  const auto [path, limits] = broadcast_object(communicator, options).wait();
  return {.path = path, .steps = limits.first, .max_bytes = limits.second};
}

// With a timeline when the environment asks for one.
void run_body(const std::function<void(Communicator&)>& body) {
  const auto end = [](Timeline* timeline) {
    if (the_world().is_here()) delete timeline;
  };
  std::unique_ptr<Timeline, decltype(end)> timeline(nullptr, end);
  if (const TimelineOptions wanted = wanted_timeline(world()); !wanted.path.empty())
    timeline.reset(new Timeline(world(), wanted));
  body(world());
  if (timeline && the_world().is_here()) timeline->stop();
}

}  // namespace

void init(int, char**) {
  const std::lock_guard lock(the_world().changing);
  if (is_initialized()) return;
  const Launch launch = read_launch();
  StartSettings settings = read_start_settings();
  std::optional<Deadlines>& deadlines = settings.deadlines;
  // Ranks that meet without a launcher know who is missing: they wait that long for rank 0, and that long
  // again for its answer.
  if (deadlines && launch.needs_tcp()) deadlines->start += 2.0 * settings.meeting_patience + kAnswerPatience;
  std::unique_ptr<Watchdog> watchdog;
  const std::shared_ptr<HeartbeatSlot> heartbeat = report_for_duty(launch.rank, job_deadlines(deadlines));
  const bool is_watched = launch.size != 1 || heartbeat;
  if (is_watched && launch.problem.empty()) watchdog = start_job_watchdog(launch, deadlines);
  std::unique_ptr<Communicator> communicator = make_world(launch, settings.meeting_patience);
  if (!settings.mistake.empty()) refuse_settings(*communicator, settings.mistake);
  if (const auto recorder = communicator->flight_recorder()) recorder->beat_in(heartbeat);
  if (communicator->size() > 1) {
    watch_world(watchdog.get(), *communicator);
  } else if (watchdog) {
    watchdog->watch(communicator->flight_recorder(), nullptr, {});
  }
  const int fair = fair_threads(*communicator);
  int threads = fair;
  collectively(*communicator, [&] { threads = thread_count(fair); });
  set_thread_count(threads);
  the_world().process = {};
  the_world().communicator = std::move(communicator);
  the_world().watchdog = std::move(watchdog);
  // Here nothing of any program has begun. One that can get further before it has to wait says so.
  if (!waits_later_than_init()) wait_while_held(launch.rank);
}

void shutdown() {
  const std::lock_guard lock(the_world().changing);
  if (!is_initialized()) return;
  // Whatever the other ranks have to say: a program that caught their error may want another world.
  struct Closing {
    ~Closing() { the_world().close(); }
  } closing;
  if (the_world().is_here()) the_world().communicator->conclude({});
}

bool is_initialized() {
  return the_world().communicator != nullptr;
}

Communicator& world() {
  require<UsageError>(is_initialized(), "[ronde] call ronde::init first");
  return *the_world().communicator;
}

int rank() {
  return world().rank();
}
int size() {
  return world().size();
}
int local_rank() {
  return world().local_rank();
}
int local_size() {
  return world().local_size();
}
int cross_rank() {
  return world().cross_rank();
}
int cross_size() {
  return world().cross_size();
}

WatchdogPause::WatchdogPause() {
  if (the_world().watchdog) the_world().watchdog->pause();
}

WatchdogPause::~WatchdogPause() {
  if (the_world().watchdog) the_world().watchdog->resume();
}

int launch_rank() {
  return read_launch().rank;
}

bool was_launched() {
  return !read_launch().launcher.empty();
}

int run_main(int argc, char** argv, const std::function<void(Communicator&)>& body) {
  try {
    init(argc, argv);
    run_body(body);
    if (the_world().is_here())
      world().conclude({});  // the world stays for who reports an error of another rank
    the_world().close();
    return 0;
  } catch (const RankLeft& error) {
    return end_in_failure({.status = error.status(), .message = error.what(), .follows = true});
  } catch (const RankGone& error) {
    return end_in_failure({.status = error.status(), .message = error.what(), .follows = true});
  } catch (const CollectiveError& error) {
    return end_in_failure({.status = error.status(), .message = error.what(), .rank = error.world_rank()});
  } catch (const Error& error) {
    return end_in_failure({.status = error.status(), .message = error.what()});
  } catch (const std::exception& error) {
    return end_in_failure({.status = ExitStatus::failure, .message = explanation(error)});
  } catch (...) {
    return end_in_failure({.status = ExitStatus::failure, .message = "unknown exception"});
  }
}

}  // namespace ronde::inline v0
