#include "ronde/run/supervisor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>

#include "common/environment.h"
#include "ronde/run/ending.h"
#include "ronde/run/hosts.h"
#include "ronde/run/ignored_signals.h"
#include "ronde/run/program_path.h"
#include "ronde/run/start_facts.h"

namespace ronde::apps {
namespace {

constexpr double kLook = 0.05, kCloseLook = 0.01;  // seconds; the latter until the first step
constexpr int kBarrenStarts = 3;
constexpr double kFirstPause = 1.0,
                 kLongestPause = 30.0;  // seconds before starting again, when it got no further
constexpr double kSameBreath = 1.0;     // seconds in which what processes say twice is meant once
constexpr double kSteady = 60.0;        // seconds after which spare ranks that die are not soon to die again
constexpr std::array kSignals{SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// "ronde run [2026-11-21 20:15:01.250] ..."
void say(const std::string& what) {
  const auto at = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count() % 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 64> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%F %T", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03d", static_cast<int>(milliseconds));
  const std::string line = cat("ronde run [", stamp.data(), fraction.data(), "] ", what, '\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f s", seconds);
  return text.data();
}

double pause_after(int failures) {
  return std::min(kLongestPause, kFirstPause * std::pow(2.0, failures - 1));
}

bool is_to_stay_ignored(int number) {
  return (number == SIGHUP || number == SIGINT || number == SIGQUIT) && was_started_ignoring(number);
}

// Of a pipe, as in `ronde run ... | head`: mpirun ends its job when it cannot write.
bool has_lost_its_reader(int file) {
  pollfd query{file, 0, 0};
  return poll(&query, 1, 0) == 1 && (query.revents & (POLLERR | POLLHUP)) == POLLERR;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

// Of variables that mpirun gives to the ranks of this machine only; values, of which one is a secret, are not
// among its words. A heartbeat is memory of this machine.
std::set<std::string> names_for_other_machines(const std::map<std::string, std::string>& settings) {
  const std::vector<std::string> own = variables_set();
  std::set<std::string> names(own.begin(), own.end());
  for (const auto& [name, value] : settings)
    if (name.starts_with("RONDE_")) names.insert(name);
  names.erase("RONDE_HEARTBEAT");
  return names;
}

}  // namespace

Supervisor::Start::Start(const Supervisor& supervisor, bool goes_on, bool is_held)
    : started(now()), beats(static_cast<int>(supervisor.options_.ranks)), patience(started) {
  if (is_held) beats.hold();
  const std::map<std::string, std::string> settings = supervisor.environment(goes_on, *this);
  job = std::make_unique<Job>(supervisor.command(settings), settings);
}

void Supervisor::Start::let_go() {
  started = now();
  patience = Patience(started);
  beats.release();
}

// Launchers do not agree on what they pass on: TERM ends a job of Open MPI's, which passes on USR2; Hydra,
// which is MPICH's, passes on TERM and dies of USR2.
void Supervisor::Start::signal_ranks(int number) const {
  std::vector<pid_t> ranks;
  for (int r = 0; r < beats.ranks(); ++r) ranks.push_back(beats.slot(r).process.load());
  const auto is_here = [&](pid_t rank) { return rank > 0 && descends_from(rank, job->process()); };
  if (!std::all_of(ranks.begin(), ranks.end(), is_here)) return job->signal(number);
  for (const pid_t rank : ranks) kill(rank, number);
}

std::string Supervisor::Start::complaint(const std::string& program) {
  if (!program.empty() && desertion.is_due(now()) && desertion.add(job->commands(), program, now()))
    return "mpirun has not ended after its ranks have";
  return patience.complaint(beats, now());
}

Supervisor::Supervisor(RunOptions options) : options_(std::move(options)) {
  become_subreaper();
  std::signal(SIGCHLD, SIG_DFL);  // ignored, it would take away how children ended
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : kSignals)
    if (is_to_stay_ignored(number))
      std::signal(number, SIG_IGN);  // also if a library has meanwhile set a handler
    else
      sigaddset(&wanted, number);
  sigset_t blocked = wanted;
  sigaddset(&blocked, SIGPIPE);  // it would leave files of mpirun behind when whoever reads the log goes
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  signals_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  require<IoError>(signals_ >= 0, "cannot wait for signals");
}

Supervisor::~Supervisor() {
  close(signals_);
}

std::vector<std::string> Supervisor::command(const std::map<std::string, std::string>& settings) const {
  std::vector<std::string> words{launcher_program()};
  words.insert(words.end(), {"-np", std::to_string(options_.ranks)});
  if (!options_.hosts.empty()) words.insert(words.end(), {"--host", to_text(options_.hosts)});
  if (!is_one_machine(options_.hosts))
    for (const std::string& name : names_for_other_machines(settings))
      words.insert(words.end(), {"-x", name});
  const std::vector<std::string>& program = options_.program;
  const std::string path = path_of_program(program.front());
  words.push_back(path.empty() ? program.front() : path);
  words.insert(words.end(), program.begin() + 1, program.end());
  return words;
}

// Variables of Open MPI, as another MPI may not know its options; of version 4 and, PRTE_..., of version 5.
// UCX is what MPICH sends by. What the user has set stays.
std::map<std::string, std::string> Supervisor::environment(bool goes_on, const Start& start) const {
  std::map<std::string, std::string> wanted{
      {"OMPI_MCA_odls_base_sigkill_timeout", "0"},  // else a job takes two seconds to end
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"PRTE_MCA_hwloc_default_binding_policy", "none"},
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
  };
  if (is_one_machine(options_.hosts)) {
    wanted["OMPI_MCA_btl"] = std::string("vader,self");  // no rank listens on a network
    wanted["UCX_TLS"] = std::string("self,sm");          // nor under MPICH
    wanted.insert(start.scratch.settings().begin(), start.scratch.settings().end());
  } else {
    for (const char* name : {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include",
                             "PRTE_MCA_oob_tcp_if_include", "RONDE_IFACE"})
      wanted[name] = options_.iface;
  }
  if (options_.ranks > sysconf(_SC_NPROCESSORS_ONLN))
    wanted["OMPI_MCA_mpi_yield_when_idle"] = std::string("1");
  if (options_.allow_root)
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
      wanted[name] = std::string("1");
  if (goes_on) wanted["RONDE_RESUME"] = std::string("auto");
  std::erase_if(wanted, [](const auto& variable) { return is_set(variable.first.c_str()); });
  wanted["RONDE_HEARTBEAT"] = start.beats.address();
  // Without the option the ranks decide.
  if (options_.hang_timeout) wanted["RONDE_HANG_TIMEOUT"] = cat(*options_.hang_timeout);
  if (goes_on) wanted["RONDE_RESTARTED"] = std::string("1");
  return wanted;
}

void Supervisor::read_signals() {
  for (signalfd_siginfo signal{}; read(signals_, &signal, sizeof signal) == sizeof signal;)
    if (signal.ssi_signo != SIGCHLD)
      pass_on(static_cast<int>(signal.ssi_signo), static_cast<pid_t>(signal.ssi_pid));
    else
      collect_orphans(now_ ? now_->job->process() : -1, spare_process());
}

void Supervisor::pass_on(int number, pid_t sender) {
  if (number == SIGUSR1) return ask_to_save();
  if (asked_to_end_ > 0.0) {
    // `timeout` tells its child, and then its process group with the child in it, also of a Ctrl-C.
    if (sender > 0 && now() - asked_to_end_ < kSameBreath) return;
    is_interrupted_ = true;
    say("told again to end: the job is killed");
    if (now_) now_->job->end(spare_process());
    return;
  }
  say(cat("told to end (signal ", number, "): the ranks save and end"));
  asked_to_end_ = now();
  ask_to_end();
}

// One rank that does not listen yet, as the job starts, would die of it, and so all would.
void Supervisor::ask_to_save() {
  const bool is_remote = !options_.hosts.empty();  // then it is known of some ranks only
  bool do_some = false, do_all = now_ != nullptr;
  for (int r = 0; do_all && r < now_->beats.ranks(); ++r) {
    const pid_t rank = now_->beats.slot(r).process.load();
    const bool listens = rank > 0 && catches_signal(rank, SIGUSR1);
    do_some = do_some || listens;
    do_all = listens || (is_remote && rank == 0);
  }
  const bool can_save = do_some && do_all;
  if (can_save) now_->signal_ranks(SIGUSR1);
  say(cat("told to save (SIGUSR1)", can_save ? "" : ", which not all ranks listen for"));
}

// Ranks that do not know how to save would die of it, which is as good.
void Supervisor::ask_to_end() {
  if (!now_) return;
  const pid_t first = now_->beats.slot(0).process.load();
  const bool is_remote = !options_.hosts.empty() && first == 0;
  if (is_remote || (first > 0 && catches_signal(first, SIGUSR2))) return now_->signal_ranks(SIGUSR2);
  now_->job->signal(SIGTERM);
}

void Supervisor::look() {
  const std::int64_t step = step_of(now_->beats);
  if (step > 0 && now_->first_step == 0) {
    now_->first_step = step;
    say(cat("step ", step, " begins, ", seconds_text(now() - now_->started), " after the start",
            ended_ > 0.0 ? cat(", ", seconds_text(now() - ended_), " after the end before") : std::string()));
  }
  if (asked_to_end_ > 0.0) {
    if (now() - asked_to_end_ < options_.grace) return;
    say(cat("the ranks have not ended within ", seconds_text(options_.grace), ": the job is killed"));
    return now_->job->end(spare_process());
  }
  const std::string complaint =
      now_->complaint(is_one_machine(options_.hosts) ? options_.program.front() : "");
  if (complaint.empty()) return;
  say(cat("the job hangs: ", complaint, ": it is killed"));
  now_->job->end(spare_process());
}

// See Note [Spare ranks].
void Supervisor::keep_spare() {
  if (!options_.standby || asked_to_end_ > 0.0 || now_->first_step == 0) return;
  if (options_.max_restarts && starts_ > *options_.max_restarts) return;
  if (spare_ && !spare_->job->has_ended()) return;
  if (spare_) lose_spare(describe_status(spare_->job->status()));
  if (now_->lost_spares >= kBarrenStarts || now() < next_spare_) return;
  try {
    spare_ = std::make_unique<Start>(*this, true, true);
  } catch (const IoError& error) {  // too many processes: no reason to end those that train
    lose_spare(error.what());
  }
}

void Supervisor::lose_spare(const std::string& why) {
  const bool was_steady = spare_ && now() - spare_->started > kSteady;
  spare_.reset();
  int& lost = now_->lost_spares;
  lost = was_steady ? 1 : lost + 1;
  next_spare_ = now() + pause_after(lost);
  say(cat("the ranks that stood by are lost: ", why,
          lost < kBarrenStarts ? ": others will" : ": none stand by until the next start"));
}

void Supervisor::begin() {
  ++starts_;
  const bool is_ready = spare_ && !spare_->job->has_ended();
  if (is_ready) {
    now_ = std::move(spare_);
    now_->let_go();
  } else {
    now_ = std::make_unique<Start>(*this, goes_on_, false);
    spare_.reset();
  }
  say(cat("start ", starts_, ": ", counted(options_.ranks, "rank"), " of ", options_.program.front(),
          is_ready ? ", which stood by" : "", ", mpirun is process ", now_->job->process()));
}

int Supervisor::run_once() {
  begin();
  Job& job = *now_->job;
  while (!job.has_ended()) {
    pollfd query{signals_, POLLIN, 0};
    poll(&query, 1, static_cast<int>(1e3 * (now_->first_step == 0 ? kCloseLook : kLook)));
    read_signals();
    if (job.has_ended()) break;
    look();
    keep_spare();
  }
  job.end(spare_process());
  ended_ = now();
  return job.status();
}

void Supervisor::drop_lost_hosts() {
  if (options_.hosts.size() < 2) return;
  const std::vector<Host> alive = find_alive(options_.hosts);
  if (alive.empty() || alive.size() == options_.hosts.size()) return;
  options_.hosts = alive;
  options_.ranks = std::min<std::int64_t>(options_.ranks, slots_of(alive));
  say(cat("machines were lost; the job goes on with ", counted(options_.ranks, "rank"), " on ",
          to_text(alive)));
}

int Supervisor::decide(int status) {
  const StartFacts start = facts_of(now_->beats, ended_ - now_->started);
  barren_ = start.got_further_than(best_step_) ? 0 : barren_ + 1;
  best_step_ = std::max(best_step_, start.step);
  goes_on_ = goes_on_ || start.has_made_something();
  say(cat("start ", starts_, " ended after ", seconds_text(start.seconds), " in step ", start.step, ": ",
          describe_status(status)));
  if (judge(status) == Verdict::is_final) return status;
  if (options_.max_restarts && starts_ > *options_.max_restarts)
    return say(cat("gives up after ", counted(*options_.max_restarts, "restart"))), status;
  if (barren_ >= kBarrenStarts)
    return say(cat("gives up: ", barren_, " starts in a row came no further than step ", best_step_)), status;
  if (has_lost_its_reader(STDOUT_FILENO) || has_lost_its_reader(STDERR_FILENO))
    return say("gives up: nobody reads any more what the ranks print"), status;
  drop_lost_hosts();
  if (barren_ > 0) wait(pause_after(barren_));
  return asked_to_end_ > 0.0 ? static_cast<int>(ExitStatus::saved) : 0;
}

// Or until a signal ends it.
void Supervisor::wait(double seconds) {
  const double until = now() + seconds;
  while (now() < until && asked_to_end_ == 0.0) {
    pollfd query{signals_, POLLIN, 0};
    poll(&query, 1, static_cast<int>(1e3 * (until - now())) + 1);
    read_signals();
  }
}

int Supervisor::run() {
  for (;;) {
    const int status = run_once();
    const Verdict verdict = judge(status);
    if (verdict == Verdict::done) {
      if (starts_ > 1) say(cat("done, after ", counted(starts_ - 1, "restart")));
      return 0;
    }
    if (is_interrupted_) return static_cast<int>(ExitStatus::interrupted);
    if (verdict == Verdict::saved || asked_to_end_ > 0.0) {
      const bool has_saved = verdict == Verdict::saved || status == static_cast<int>(ExitStatus::interrupted);
      say(cat("ended as it was told to: ", describe_status(status),
              has_saved ? "" : "; what was not saved before is lost"));
      return status_when_told_to_end(status);
    }
    if (const int final_status = decide(status)) return final_status;
  }
}

}  // namespace ronde::apps
