/// Supervisor: runs a job until it is done, whatever happens to its ranks.
///
/// It starts mpirun, looks at the ranks' heartbeats, ends all of the job when a rank has died, hangs or is
/// lost, and starts it again with RONDE_RESUME=auto, so that it goes on from its newest good checkpoint, and
/// with RONDE_RESTARTED=1: a trainer then does so whatever its own --resume says, and begins with the FILE
/// that it names when there is no checkpoint yet. The program's words, and a RONDE_RESUME of the user, stay.
/// It makes no calls of MPI itself, has one thread, and writes one line to stderr for all that it does.
///
/// Note [Spare ranks]: with `standby` a second set of ranks is started once the first trains. It starts MPI,
/// trainers load their data too, and it waits (`wait_while_held`), asleep, until the first fails. Then it
/// reads the newest good checkpoint and goes on, and another set gets ready; so it does when those that wait
/// have died, unless they do so again and again. This is for programs made with Ronde: another one would not
/// wait.
///
/// Note [Earlier runs]: --dir may hold checkpoints of an earlier run. A trainer that begins anew says there
/// that they do not count, before its first step; one that was told to go on would take them. So a job that
/// failed before any trainer came to a step is started as it was the first time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ronde/distributed/heartbeat.h>

#include "ronde/run/desertion.h"
#include "ronde/run/job.h"
#include "ronde/run/options.h"
#include "ronde/run/patience.h"
#include "ronde/run/scratch.h"

namespace ronde::apps {

class Supervisor {
 public:
  explicit Supervisor(RunOptions options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  /// Its exit status.
  int run();

 private:
  /// mpirun, its files, the memory in which its ranks tell how far they are, and what is known of them.
  struct Start {
    Start(const Supervisor& supervisor, bool goes_on, bool is_held);
    /// The ranks that stood by go on.
    void let_go();
    /// The ranks themselves, if all are known to run here, else mpirun, which may pass it on.
    void signal_ranks(int number) const;
    /// Why it is given up; empty: it is not. `program`: of ranks that all run here; empty: they may not.
    std::string complaint(const std::string& program);

    double started;  // when it was made or, where it stood by, let go
    HeartbeatFile beats;
    Scratch scratch;
    std::unique_ptr<Job> job;
    Patience patience;
    std::int64_t first_step = 0;  // that it came to; 0: none yet
    int lost_spares = 0;          // that died in a row beside it
    Desertion desertion;
  };

  /// One start of the job, until it has ended; its status.
  int run_once();
  /// The spare ranks if there are any, else new ones.
  void begin();
  void keep_spare();
  void lose_spare(const std::string& why);
  pid_t spare_process() const { return spare_ ? spare_->job->process() : -1; }
  std::vector<std::string> command(const std::map<std::string, std::string>& settings) const;
  std::map<std::string, std::string> environment(bool goes_on, const Start& start) const;
  void read_signals();
  /// `sender`: a process; 0: the terminal.
  void pass_on(int number, pid_t sender);
  void ask_to_save();
  void ask_to_end();
  void look();
  /// What to do after a job that did not end well; 0: start again, else the status to end with.
  int decide(int status);
  void drop_lost_hosts();
  void wait(double seconds);

  RunOptions options_;
  int signals_ = -1;              // a file of those that wait
  std::unique_ptr<Start> spare_;  // Note [Spare ranks]
  double next_spare_ = 0.0;       // not before
  std::unique_ptr<Start> now_;    // what runs, or ran last
  std::int64_t starts_ = 0;
  std::int64_t best_step_ = 0;  // that any start has come to
  int barren_ = 0;              // starts in a row that came no further
  bool goes_on_ = false;        // there may be something to go on from: Note [Earlier runs]
  double ended_ = 0.0;          // when the last start did; 0: none has
  double asked_to_end_ = 0.0;  // when; 0: not
  bool is_interrupted_ = false;
};

}  // namespace ronde::apps
