#include <algorithm>
#include <filesystem>
#include <memory>

#include <unistd.h>

#include <ronde/core/error.h>
#include <ronde/distributed/network.h>

#include "ronde/commands.h"
#include "ronde/run/job.h"
#include "ronde/run/program_path.h"
#include "ronde/run/supervisor.h"

namespace ronde::apps {
namespace {

constexpr std::int64_t kMostRanks = 65'536;  // heartbeats of more would fill the memory

constexpr const char* kRunDetails =
    "Starts PROGRAM on N ranks under mpirun, and again when a rank has died, hangs, or its machine is\n"
    "lost: with RONDE_RESUME=auto, unless it is set, once a step was made, so that a trainer goes on\n"
    "from its newest good checkpoint (--dir and --save-steps make some). Ends when the program does, when\n"
    "starting again would be of no use (wrong usage, bad files), or when three starts in a row came no\n"
    "further. USR1: save and go on. TERM, USR2, QUIT, Ctrl-C: save and end with status 75 (74: saving "
    "failed).\n\n"
    "  ronde run -np 4 -- train_cifar10 --dir out --save-steps auto";

// Hosts are read after all else, since a mistake in them is a UsageError of its own.
struct Asked {
  RunOptions options;
  std::string hosts;
  bool insecure_iface = false;
};

// Ranks trust whoever reaches them, and what they say is not encrypted.
void check_network(const Asked& asked) {
  const RunOptions& options = asked.options;
  if (is_one_machine(options.hosts)) return;
  require<UsageError>(!launcher_is_hydra(), "--hosts with several machines wants Open MPI's mpirun, but ",
                      launcher_program(), " is MPICH's: start the ranks with it, without `ronde run`");
  require<UsageError>(!options.iface.empty(),
                      "--hosts with several machines needs --iface, the private network between them: an "
                      "interface (eth1) or a network (10.0.0.0/24)");
  for (const std::string& address : local_addresses(options.iface))
    require<UsageError>(
        asked.insecure_iface || is_private_address(address), "--iface ", options.iface, ": ", address,
        " is a public address, and ranks listen without encryption: name a private network, or "
        "give --insecure-iface");
}

// Without --hosts: other machines may have it although this one has not.
void check_program(const std::string& program) {
  if (const std::string path = path_of_program(program); !path.empty()) {
    const std::string obstacle = obstacle_to_running(path);
    require<UsageError>(obstacle.empty(), program, ": the system cannot execute it: ", obstacle,
                        ": is it for another kind of machine, or a script whose first line names no "
                        "interpreter that is here?");
    return;
  }
  const bool is_path = program.find('/') != std::string::npos;
  std::error_code ignored;
  require<UsageError>(!is_path || !std::filesystem::is_regular_file(program, ignored), program,
                      ": not executable: chmod +x ", program);
  throw UsageError(cat(program, ": no such program", is_path ? "" : " beside `ronde` or in $PATH",
                       ": ronde run -np 4 -- PROGRAM ARGUMENT..."));
}

void check_launcher() {
  const std::string launcher = launcher_program();
  require<UsageError>(can_run(launcher), launcher,
                      ": not found: apt-get install openmpi-bin, or name one in RONDE_MPIEXEC");
}

int supervise(Asked asked, const std::vector<std::string>& program) {
  require<UsageError>(!program.empty(), "no program given: ronde run -np 4 -- PROGRAM ARGUMENT...");
  require<UsageError>(std::find(program.begin(), program.end(), ":") == program.end(),
                      "an argument ':': mpirun takes it for the beginning of another program");
  asked.options.program = program;
  if (!asked.hosts.empty()) asked.options.hosts = parse_hosts(asked.hosts);
  require<UsageError>(asked.options.hosts.empty() || slots_of(asked.options.hosts) >= asked.options.ranks,
                      "-np ", asked.options.ranks, ": --hosts has places for ",
                      slots_of(asked.options.hosts));
  check_network(asked);
  require<UsageError>(!asked.options.standby || is_one_machine(asked.options.hosts),
                      "--standby is for one machine");
  require<UsageError>(asked.options.allow_root || geteuid() != 0,
                      "refuses to train as root, who can damage all of the machine: be another user, or give "
                      "--allow-root");
  if (is_one_machine(asked.options.hosts)) check_program(program.front());
  check_launcher();
  return Supervisor(std::move(asked.options)).run();
}

}  // namespace

Command run_command() {
  const auto asked = std::make_shared<Asked>();
  RunOptions& options = asked->options;
  return {
      .name = "run",
      .help = "run a program on N ranks, again and again until it is done",
      .details = kRunDetails,
      .arguments =
          {option("--np", "N", "ranks (default 1); -np too", whole_number(options.ranks, 1, kMostRanks)),
           option("--max-restarts", "K", "start again at most K times (default: while it helps)",
                  whole_number(options.max_restarts, 0)),
           option("--hosts", "LIST", "machines, a:4,b:4, or a file with lines \"a slots=4\"",
                  text(asked->hosts)),
           option("--iface", "WHERE",
                  "with --hosts: the private network that ranks listen on, eth1 or 10.0.0.0/24",
                  text(options.iface)),
           flag("--insecure-iface", "listen there although it is public", asked->insecure_iface),
           option("--hang-timeout", "SECONDS",
                  "end and start again when nothing has moved for so long; 0: never (default: the "
                  "program's own, $RONDE_HANG_TIMEOUT or 600)",
                  seconds_or_never(options.hang_timeout)),
           option("--grace", "SECONDS", "to save in, when told to end (default 25; 0: killed at once)",
                  seconds_or_at_once(options.grace)),
           flag("--standby",
                "keep a second set of ranks ready, which takes over when one fails: half the wait, twice "
                "the memory (one machine)",
                options.standby),
           flag("--allow-root", "train as root all the same", options.allow_root)},
      .run = {},
      .supervise = [asked](const std::vector<std::string>& program) { return supervise(*asked, program); }};
}

}  // namespace ronde::apps
