/// Job: one start of mpirun and all that comes of it.
///
/// Note [No orphans]: mpirun leads a process group of its own and dies with this process (PR_SET_PDEATHSIG).
/// Ranks whose mpirun is gone end themselves (watchdog.h). What does not, this process inherits, as it is a
/// subreaper, and kills: after `end` no process of the job is left on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ronde::apps {

class Job {
 public:
  /// Starts `command`; `environment` is added to this process's own. Throws an IoError.
  Job(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);
  /// Ends it, if it runs.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  pid_t process() const { return process_; }
  /// Whether mpirun has ended.
  bool has_ended();
  /// As the shell has it, once it has ended.
  int status() const { return status_; }
  void signal(int number) const;
  /// The words of the processes that mpirun has started here and that live, each with blanks between.
  std::vector<std::string> commands() const;
  /// Kills whatever is left of the job: every child of this process but `other`, another job's mpirun.
  void end(pid_t other = -1);

 private:
  pid_t process_ = -1;
  int status_ = -1;  // -1: it runs
};

/// What starts the ranks: $RONDE_MPIEXEC, else "mpirun".
std::string launcher_program();
/// Whether that is MPICH's, as it says itself when asked for its version.
bool launcher_is_hydra();
/// Once, before the first job: processes that lose their parent become this one's children.
void become_subreaper();
/// Such children that have ended, whose entries the system keeps until then; not `running` nor `spare`, the
/// mpiruns whose status somebody wants to know.
void collect_orphans(pid_t running, pid_t spare);
/// Whether the process is a child of `ancestor`, or a child's child, ...
bool descends_from(pid_t process, pid_t ancestor);
/// Whether the process would survive the signal.
bool catches_signal(pid_t process, int number);

}  // namespace ronde::apps
