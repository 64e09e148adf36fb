// Programs that save after every step are killed (kill -9) at random times. What the next one finds must be a
// file that holds what was saved, and none before the last that was said to be safe.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <random>

#include <ronde/core/backend.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/latest_checkpoint.h>
#include <ronde/models/model_checkpoint.h>

#include "models/testing.h"
#include "rigs/checkpoints/content.h"
#include "rigs/checkpoints/protocols.h"
#include "rigs/checkpoints/rigs.h"
#include "support/temp_dir.h"

namespace ronde::rigs {
namespace {

using test::TempDir;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSteps = 200;  // more than a program lives to make

/// Says so when a step is safe.
using Acknowledge = std::function<void(std::int64_t)>;

void save_in_a_loop(Protocol protocol, const std::string& directory, const Acknowledge& acknowledge) {
  for (std::int64_t step = 1; step <= kSteps; ++step) save(protocol, directory, step, acknowledge);
}

/// The real thing: `fit` with ModelCheckpoint, which keeps two files. The weights by step, if asked for.
void train(const std::string& directory, const Acknowledge& acknowledge,
           std::map<std::int64_t, std::string>* weights) {
  Model model = test::small_model({.seed = 3, .backend = &backend("cpu")});
  ModelCheckpoint files({.filepath = directory + "/{epoch}-{batch}.h5", .save_steps = 1, .keep = 2});
  std::string last;
  std::map<std::string, std::int64_t> steps;  // of files
  LambdaCallback watch({.on_train_batch_end = [&](std::int64_t batch, const Logs&) {
    steps[cat(directory, "/1-", batch + 1, ".h5")] = batch + 1;
    if (weights != nullptr) (*weights)[batch + 1] = model.weights_sha256();
    if (std::exchange(last, files.last_path()) != files.last_path()) acknowledge(steps.at(files.last_path()));
  }});
  model.fit(test::small_images(kSteps * 2), {.batch_size = 2, .callbacks = {&watch, &files}, .verbose = 0});
}

struct Tally {
  std::int64_t killed = 0, unreadable = 0, wrong = 0, lost = 0;
  std::int64_t steps = 0;  // of the last files that were safe
  bool is_clean() const { return unreadable + wrong + lost == 0; }
  void add(const Tally& other) {
    killed += other.killed;
    unreadable += other.unreadable;
    wrong += other.wrong;
    lost += other.lost;
    steps += other.steps;
  }
  void print(const char* name) const {
    std::printf("  %-22s %7lld killed  %6lld unreadable  %6lld wrong  %6lld said to be safe and lost\n", name,
                static_cast<long long>(killed), static_cast<long long>(unreadable),
                static_cast<long long>(wrong), static_cast<long long>(lost));
  }
};

/// A life of the program; the last step that it said was safe. It is killed `delay` after the first.
std::int64_t live_and_die(const std::function<void(const Acknowledge&)>& program,
                          std::chrono::microseconds delay, Tally& tally) {
  int ends[2];
  require(::pipe(ends) == 0, "no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    try {
      program([&](std::int64_t step) {
        if (::write(ends[1], &step, sizeof step) != sizeof step) ::_exit(3);
      });
    } catch (const std::exception& error) {
      std::fprintf(stderr, "  %s\n", error.what());
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::int64_t last = 0, step = 0;
  const auto next = [&] {
    const bool is_there = ::read(ends[0], &step, sizeof step) == sizeof step;
    if (is_there) last = step;
    return is_there;
  };
  next();
  ::usleep(static_cast<useconds_t>(delay.count()));
  ::kill(child, SIGKILL);
  while (next()) {
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  tally.killed += WIFSIGNALED(status);
  return last;
}

/// 5 to 30 steps of each kind of program.
std::chrono::microseconds random_delay(std::mt19937_64& random) {
  return std::chrono::microseconds(random() % 20000);
}

Tally kill_protocol(Protocol protocol, std::int64_t trials, std::mt19937_64& random) {
  Tally tally;
  for (std::int64_t i = 0; i < trials; ++i) {
    const TempDir dir(test::memory_directory());
    const std::int64_t safe = live_and_die(
        [&](const Acknowledge& acknowledge) { save_in_a_loop(protocol, dir.path(), acknowledge); },
        random_delay(random), tally);
    const Found found = find(dir.path());
    tally.unreadable += !found.damaged.empty();
    tally.wrong += !found.is_right;
    tally.lost += found.step < safe;
    tally.steps += safe;
  }
  return tally;
}

Tally kill_trainings(std::int64_t trials, std::mt19937_64& random) {
  // A child makes it, since this process must not start a thread before it forks.
  const TempDir control(test::memory_directory());
  const std::string table = control / "weights";
  in_child([&] {
    std::map<std::int64_t, std::string> weights;
    const TempDir files(test::memory_directory());
    train(
        files.path(), [](std::int64_t) {}, &weights);
    std::FILE* out = std::fopen(table.c_str(), "w");
    for (const auto& [step, hash] : weights) std::fprintf(out, "%s\n", hash.c_str());
    return std::fclose(out);
  });
  Tally tally;
  for (std::int64_t i = 0; i < trials; ++i) {
    const TempDir dir(test::memory_directory());
    const std::int64_t safe =
        live_and_die([&](const Acknowledge& acknowledge) { train(dir.path(), acknowledge, nullptr); },
                     random_delay(random), tally);
    // Looked at by a program of its own, as a training that starts again would.
    const int found = in_child([&] {
      const LatestCheckpoint latest = latest_checkpoint(dir.path());
      if (!latest.skipped.empty()) return 10;
      if (latest.steps < safe) return 12;
      Model model = test::small_model({.seed = 3, .backend = &backend("cpu")});
      model.load_weights(latest.path);
      char expected[80] = {};
      std::FILE* in = std::fopen(table.c_str(), "r");
      for (std::int64_t s = 0; s < latest.steps; ++s)
        if (std::fgets(expected, sizeof expected, in) == nullptr) return 11;
      std::fclose(in);
      return model.weights_sha256() + "\n" == expected ? 0 : 11;
    });
    tally.unreadable += found == 10 || found < 0 || found == 1;
    tally.wrong += found == 11;
    tally.lost += found == 12;
    tally.steps += safe;
  }
  return tally;
}

}  // namespace

bool run_kills(const RigOptions& options) {
  std::mt19937_64 random(options.seed);
  const auto begin = Clock::now();
  bool is_good = true;
  const Tally trainings = kill_trainings(options.trials, random);
  trainings.print("training");
  is_good = trainings.is_clean() && trainings.killed > options.trials / 2;
  const Tally own = kill_protocol(Protocol::full, options.trials, random);
  own.print(name_of(Protocol::full));
  is_good = is_good && own.is_clean() && own.killed > options.trials / 2;
  // A rig that finds nothing wrong with these finds nothing.
  for (const Protocol protocol : {Protocol::in_place, Protocol::early_rename, Protocol::early_ack}) {
    Tally control;
    for (int i = 0; i < 50 && (i == 0 || control.is_clean()); ++i)
      control.add(kill_protocol(protocol, std::min<std::int64_t>(options.trials, 500), random));
    control.print(name_of(protocol));
    is_good = is_good && !control.is_clean();
  }
  std::printf("  %.1f s, %.1f files a life\n", std::chrono::duration<double>(Clock::now() - begin).count(),
              static_cast<double>(own.steps + trainings.steps) / static_cast<double>(2 * options.trials));
  return is_good;
}

}  // namespace ronde::rigs
