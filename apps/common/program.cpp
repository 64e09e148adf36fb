#include "common/program.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/clock.h>
#include <ronde/core/counted.h>
#include <ronde/data/subset.h>
#include <ronde/distributed/heartbeat.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/watchdog.h>
#include <ronde/models/preemption.h>

#include "common/device_choice.h"
#include "common/directory_claim.h"
#include "common/resume.h"
#include "common/run_clock.h"
#include "common/run_files.h"
#include "common/same_options.h"
#include "common/standard_output.h"
#include "common/terminal_text.h"
#include "common/training.h"
#include "common/uploads.h"

namespace ronde::apps {
namespace {

void use_threads(const TrainOptions& options) {
  if (!options.threads) return;
  set_thread_count(static_cast<int>(*options.threads));
}

// The earlier of what the user and Slurm say.
void find_end_time(TrainOptions& options, double started) {
  if (options.max_seconds) options.end_time = started + *options.max_seconds;
  const char* slurm = std::getenv("SLURM_JOB_END_TIME");
  const double end = slurm ? std::atof(slurm) : 0.0;
  if (end > 0.0 && (options.end_time == 0.0 || end < options.end_time)) options.end_time = end;
}

// For the watchdog, which is older than the options.
void tell_watchdog(const TrainOptions& options) {
  ::setenv("RONDE_HANG_TIMEOUT", cat(options.hang_timeout).c_str(), 1);
  if (!options.dir.empty()) ::setenv("RONDE_FLIGHT_RECORDER", options.dir.c_str(), 0);
}

// Started again by `ronde run` after it had made steps.
void go_on_when_restarted(TrainOptions& options) {
  options.restarted = std::getenv("RONDE_RESTARTED") != nullptr;
  if (options.restarted && options.resume.empty()) options.resume = "auto";
}

// Before the command line reads the environment.
void accept_names_of_horovod() {
  const char* timeline = std::getenv("HOROVOD_TIMELINE");
  if (timeline != nullptr && std::string(timeline) != "DYNAMIC") ::setenv("RONDE_TIMELINE", timeline, 0);
}

void print_warnings(const CommandLine& line) {
  for (const std::string& warning : line.warnings())
    std::fprintf(stderr, "ronde: warning: %s\n", warning.c_str());
}

void warn_of_missing(const char* option, std::optional<std::int64_t> wanted, std::int64_t there) {
  if (wanted.value_or(0) > there)
    std::fprintf(stderr, "ronde: warning: %s %s: the data has %s, and all of them are used\n", option,
                 grouped(*wanted).c_str(), to_string(counted(there, "sample")).c_str());
}

// A set of which a part is used is not described by its size.
std::string data_line(const TrainOptions& options, const TrainingData& data, const Dataset& train,
                      const Dataset& test) {
  if (!options.train_samples && !options.test_samples) return data.description;
  return cat(data.description, "; of these the first ", grouped(train.size()), " + ", grouped(test.size()));
}

// The last moment at which nothing depends on how far the training has come.
void wait_if_spare(const Communicator& world, TrainOptions& options, double started, RunClock& clock) {
  const double held = wait_while_held(world.rank());
  find_end_time(options, started + held);
  clock.leave_out(held);
}

void train(Communicator& world, const TrainingProgram& program, TrainOptions& options, double started,
           const ChosenDevice& device, std::unique_ptr<Uploader>& uploader) {
  RunClock clock;
  const Recipe recipe = program.recipe(options.recipe);
  const TrainPlan plan = make_plan(recipe, options, world.size());
  const RunFiles files = run_files(options, recipe, plan);
  settle_resume(world, options);
  prepare_directories(world, options, files);
  uploader = make_uploader(world, options);

  std::optional<TrainingData> data;
  clock.measure("data", [&] {
    std::optional<WatchdogPause> pause;
    if (options.download) pause.emplace();  // which may take any time
    data = load_training_data(world, options, program.data);
  });
  if (world.rank() == 0) {
    warn_of_missing("--train-samples", options.train_samples, data->train->size());
    warn_of_missing("--test-samples", options.test_samples, data->test->size());
  }
  const Subset train = subset(*data->train, options.train_samples.value_or(data->train->size()));
  const Subset test = subset(*data->test, options.test_samples.value_or(data->test->size()));
  wait_if_spare(world, options, started, clock);
  const DirectoryClaim claim(world.rank() == 0 ? options.dir : "");
  if (claim.is_shared())
    std::fprintf(stderr,
                 "ronde: warning: %s: another job writes here too, and each replaces the other's files: give "
                 "each its own --dir\n",
                 options.dir.c_str());
  run_training(world,
               {.program = program.name,
                .options = options,
                .recipe = recipe,
                .plan = plan,
                .files = files,
                .data_description = data_line(options, *data, train, test),
                .train = train,
                .test = test,
                .device = device,
                .uploader = uploader.get()},
               clock);
}

}  // namespace

int program_main(int argc, char** argv, const TrainingProgram& program) {
  std::setvbuf(stdout, nullptr, _IOLBF,
               0);  // a log tells of an epoch when it ends, not when its buffer is full
  const double started = unix_seconds();
  catch_preemption_signals();
  std::signal(SIGCHLD, SIG_DFL);  // ignored, it would take away how uploads ended
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like others
  TrainOptions options;
  CommandLine line(program.name, program.summary);
  declare_train_options(line, options, program.recipes);
  accept_names_of_horovod();

  // A rank whose options are wrong still joins the others, so that one of them can speak for all.
  std::string wrong_usage;
  try {
    if (const std::optional<std::string> text = line.parse(argc, argv)) {
      if (launch_rank() == 0) std::fputs(for_terminal(*text).c_str(), stdout);
      return flush_standard_output() ? 0 : static_cast<int>(ExitStatus::io);
    }
    go_on_when_restarted(options);
    check_train_options(options);
    find_end_time(options, started);
    tell_watchdog(options);
  } catch (const UsageError& error) {
    wrong_usage = error.what();
  }

  // They became options; `run_main` would only do the same again, or complain in other words.
  for (const char* name : {"RONDE_THREADS", "RONDE_TIMELINE", "HOROVOD_TIMELINE"}) ::unsetenv(name);
  ::setenv("RONDE_WAITS_LATER", "1", 1);  // see wait_if_spare
  std::unique_ptr<Uploader> uploader;
  const int status = run_main(argc, argv, [&](Communicator& world) {
    collectively(world, [&] { require<UsageError>(wrong_usage.empty(), wrong_usage); });
    require_same_options(world, line.settings());
    if (world.rank() == 0) print_warnings(line);
    use_threads(options);
    ChosenDevice device;
    collectively(world, [&] { device = choose_training_device(world, options.device); });
    train(world, program, options, started, device, uploader);
  });
  if (uploader) end_uploads(*uploader, options, status);
  flush_standard_output();  // a log that is lost is no reason to call the training failed
  return status;
}

}  // namespace ronde::apps
