#include "distributed/run_main_job.h"

#include <array>
#include <csignal>
#include <cstdio>

#include <sys/wait.h>

#include <ronde/core/text.h>

#include "support/temp_dir.h"

namespace ronde::test {

int Job::count(const std::string& text) const {
  int n = 0;
  for (std::size_t at = output.find(text); at != std::string::npos; at = output.find(text, at + 1)) ++n;
  return n;
}

void expect_end(const Job& job, int status, const Lines& messages) {
  EXPECT_EQ(job.status, status) << job.output;
  EXPECT_EQ(job.messages, messages);
}

Job run(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  Job job;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    job.output.append(buffer.data(), n);
  const int status = pclose(pipe);
  job.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  for (const std::string& line : split(job.output, '\n'))
    if (line.starts_with("ronde:")) job.messages.push_back(line);
  return job;
}

Job run_alone(const std::string& mode) {
  return run(std::string(RONDE_PROGRAM) + ' ' + mode);
}

namespace {

/// Of jobs that end by MPI_Abort while another rank leaves by itself, some in a hundred on a busy machine
/// have Open MPI 4.1.4's launcher crash or wait for ever when all ranks are gone, in PMIx_server_finalize, and
/// Open MPI 5.0.7's crash.
bool launcher_failed(const Job& job) {
  constexpr int kTimeIsOver = 124, kCrashed = 128 + SIGSEGV;  // as timeout has them
  return job.count("(PMIx_server_finalize") > 0 ||
         ((job.status == kTimeIsOver || job.status == kCrashed) && job.count("MPI_ABORT was invoked") > 0);
}

}  // namespace

Job run_ranks(int ranks, const std::string& mode) {
  const std::string command = std::string("timeout -k 5 50 ") + RONDE_MPIEXEC + " -n " +
                              std::to_string(ranks) + ' ' + RONDE_PROGRAM + ' ' + mode;
  const Job job = run(command);
  return launcher_failed(job) ? run(command) : job;
}

Job run_by_variables(int ranks, const std::string& mode) {
  const ronde::test::TempDir directory;
  std::string command;
  for (int r = ranks - 1; r >= 0; --r) {
    command += "RONDE_RANK=" + std::to_string(r) + " RONDE_WORLD_SIZE=" + std::to_string(ranks) +
               " RONDE_RENDEZVOUS=file:" + (directory / "meeting") + ' ' + RONDE_PROGRAM + ' ' + mode +
               (r > 0 ? " & " : "; s=$?; wait; exit $s");
  }
  return run("{ " + command + "; }");
}

void expect_failure_to_end_groups(RunJob start) {
  setenv("RONDE_HANG_TIMEOUT", "30", 1);
  const Job job = start(3, "pending_in_a_group");
  unsetenv("RONDE_HANG_TIMEOUT");
  EXPECT_EQ(job.status, 74) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 2] disk full"});
}

void expect_children_to_end_alone(RunJob start) {
  const Job job = start(2, "children");
  EXPECT_EQ(job.status, 0) << job.output;
  for (const char* line : {"exits: 3", "returns: 0", "throws: 65", "shuts down: 0", "sum 4"})
    EXPECT_EQ(job.count(line), 1) << line << '\n' << job.output;
}

void expect_errors_of_sets(RunJob start) {
  expect_end(start(3, "one_fails_with_a_set"), 65, {"ronde: [rank 2] cannot read picture 17.jpg"});
  expect_end(
      start(4, "set_disagrees"), 1,
      {"ronde: [rank 3] [allreduce] ranks disagree: rank 2 calls allreduce(sum, f32 (4,)), rank 3 calls "
       "allreduce(sum, f32 (5,))"});
  expect_end(start(4, "set_agrees_on_an_error"), 65, {"ronde: [rank 3] bad magic"});
}

}  // namespace ronde::test
