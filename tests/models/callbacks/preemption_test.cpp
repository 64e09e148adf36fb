// A training that is told to end saves after the same step on all ranks, and goes on bit for bit.
#include <ronde/models/preemption.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <ronde/core/ops.h>
#include <ronde/models/file_io.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/nn/dense.h>

#include "models/file_size_limit.h"
#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kSteps = 4;  // of an epoch

struct Run {
  int ranks = 1;
  double end_time = 0.0;
  /// Called on all ranks when so many steps are done.
  std::function<void(int rank, std::int64_t steps)> at_step = {};
  bool resume = false;
  std::string file = {};
  void (*on_interrupt)() = nullptr;
};

struct PreemptionOutcome {
  std::string weights;              ///< empty: it did not come to its end
  std::vector<std::int64_t> steps;  ///< done by each rank
  std::string error;
  ExitStatus status = ExitStatus::ok;
};

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

PreemptionOutcome train_until(const Run& run) {
  catch_preemption_signals();
  const InMemoryDataset data = small_images(4 * kSteps);
  PreemptionOutcome outcome;
  outcome.steps.resize(static_cast<std::size_t>(run.ranks));
  std::mutex lock;
  test::run_ranks(run.ranks, [&](Communicator& world) {
    Model model(small_net(), {6, 6, 1}, {.communicator = &world, .seed = 3, .backend = &backend("cpu")});
    model.compile(
        {.optimizer = std::make_unique<Adam>(), .loss = std::make_unique<CategoricalCrossentropy>()});
    if (run.resume) model.load_weights(run.file);
    std::int64_t steps = 0;
    LambdaCallback clock({.on_train_batch_end = [&](std::int64_t, const Logs&) {
      ++steps;
      if (run.at_step) run.at_step(world.rank(), steps);
    }});
    Preemption preemption({.filepath = run.file, .end_time = run.end_time, .on_interrupt = run.on_interrupt});
    FitOptions fit{.global_batch_size = 4, .epochs = 3};
    fit.verbose = 0;
    fit.resume = run.resume;
    fit.callbacks = {&clock, &preemption};
    std::string error;
    ExitStatus status = ExitStatus::ok;
    try {
      model.fit(data, fit);
    } catch (const CollectiveError& ended) {
      error = ended.what();
      status = ended.status();
    }
    const std::lock_guard guard(lock);
    outcome.steps[static_cast<std::size_t>(world.rank())] = steps;
    if (error.empty()) outcome.weights = model.weights_sha256();
    outcome.error = error;
    outcome.status = status;
  });
  return outcome;
}

TEST(Preemption, SavesAndEndsAtTheSameStepOnAllRanksAndGoesOn) {
  for (const int ranks : {1, 3}) {
    const TempDir dir;
    const std::string file = dir / "on-signal.h5";
    const std::string undisturbed = train_until({.ranks = ranks, .file = file}).weights;
    const PreemptionOutcome ended = train_until({.ranks = ranks,
                                                 .at_step =
                                                     [&](int rank, std::int64_t steps) {
                                                       if (rank == ranks - 1 && steps == 6)
                                                         std::raise(SIGUSR2);
                                                     },
                                                 .file = file});
    EXPECT_EQ(ended.status, ExitStatus::saved) << ended.error;
    EXPECT_NE(ended.error.find("told to end by a signal: saved " + file + " after "), std::string::npos)
        << ended.error;
    // This rank's own step, or the one after it where another rank, as a thread, took the signal up.
    for (const std::int64_t steps : ended.steps) EXPECT_EQ(steps, ended.steps[0]);
    EXPECT_GE(ended.steps[0], 6);
    EXPECT_LE(ended.steps[0], 8);
    EXPECT_EQ(train_until({.ranks = ranks, .resume = true, .file = file}).weights, undisturbed);
  }
}

// Whoever is told to end could not save any more.
TEST(Preemption, ANetThatNoArchiveCanDescribeIsRefusedBeforeTheFirstStep) {
  struct OwnForward : Module {
    Dense out{{.units = 3, .activation = Activation::softmax}};
    OwnForward() { add_module("out", out); }
    Variable forward(const Variable& x, const Context& context) override {
      return out(reshape(x, {x.size(0), -1}), context);
    }
  };
  Model model(std::make_unique<OwnForward>(), {6, 6, 1});
  model.compile(small_compile());
  Preemption preemption({.filepath = "on-signal.keras"});
  const std::string refusal =
      message_of<UsageError>([&] { model.fit(small_images(8), {.callbacks = {&preemption}, .verbose = 0}); });
  EXPECT_TRUE(refusal.starts_with("[preemption] on-signal.keras: a .keras file describes its net"))
      << refusal;
  EXPECT_EQ(model.progress().steps, 0);
}

TEST(Preemption, SavesAndGoesOn) {
  const TempDir dir;
  const std::string file = dir / "on-signal.h5";
  const PreemptionOutcome all = train_until({.ranks = 2,
                                             .at_step =
                                                 [](int rank, std::int64_t steps) {
                                                   if (rank == 0 && steps == 2) std::raise(SIGUSR1);
                                                 },
                                             .file = file});
  EXPECT_EQ(all.status, ExitStatus::ok) << all.error;
  EXPECT_EQ(all.steps, std::vector<std::int64_t>(2, 3 * kSteps));
  const PreemptionOutcome resumed = train_until({.ranks = 2, .resume = true, .file = file});
  EXPECT_EQ(resumed.weights, all.weights);
  EXPECT_LE(resumed.steps[0], 3 * kSteps - 2);
}

TEST(Preemption, ToSaveDoesNotUndoToEnd) {
  const TempDir dir;
  const PreemptionOutcome ended = train_until({.at_step =
                                                   [](int, std::int64_t steps) {
                                                     if (steps != 2) return;
                                                     std::raise(SIGUSR2);
                                                     std::raise(SIGUSR1);
                                                   },
                                               .file = dir / "on-signal.h5"});
  EXPECT_EQ(ended.status, ExitStatus::saved) << ended.error;
}

// As `timeout` does it.
TEST(Preemption, TwoTermsInOneBreathAreOne) {
  const TempDir dir;
  const PreemptionOutcome ended = train_until({.at_step =
                                                   [](int, std::int64_t steps) {
                                                     if (steps == 2) std::raise(SIGTERM);
                                                     if (steps == 2) std::raise(SIGTERM);
                                                   },
                                               .file = dir / "on-signal.h5"});
  EXPECT_EQ(ended.status, ExitStatus::saved) << ended.error;
}

// Whoever sends TERM again does not want to wait.
TEST(Preemption, ALaterTermEndsAtOnce) {
  const auto term_twice = [] {
    catch_preemption_signals();
    std::raise(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(term_twice(), ::testing::KilledBySignal(SIGTERM), "");
}

TEST(Preemption, EndsBeforeItsTimeIsUp) {
  const TempDir dir;
  const std::string file = dir / "on-signal.h5";
  const PreemptionOutcome early = train_until({.ranks = 2, .end_time = unix_time() + 3600.0, .file = file});
  EXPECT_EQ(early.status, ExitStatus::ok) << early.error;
  const PreemptionOutcome late = train_until({.ranks = 2, .end_time = unix_time() + 1.0, .file = file});
  EXPECT_EQ(late.status, ExitStatus::saved) << late.error;
  EXPECT_NE(late.error.find("the time is nearly up"), std::string::npos) << late.error;
  EXPECT_LE(late.steps[0], 3);
  EXPECT_EQ(train_until({.ranks = 2, .resume = true, .file = file}).weights, early.weights);
}

volatile std::sig_atomic_t interrupts_told = 0;

TEST(Preemption, SavesAndEndsWhenInterrupted) {
  for (const int ranks : {1, 3}) {
    const TempDir dir;
    const std::string file = dir / "on-signal.h5";
    const std::string undisturbed = train_until({.ranks = ranks, .file = file}).weights;
    interrupts_told = 0;
    const PreemptionOutcome ended = train_until({.ranks = ranks,
                                                 .at_step =
                                                     [&](int rank, std::int64_t steps) {
                                                       if (rank == 0 && steps == 6) std::raise(SIGINT);
                                                     },
                                                 .file = file,
                                                 .on_interrupt = [] { interrupts_told = 1; }});
    EXPECT_EQ(interrupts_told, 1);
    EXPECT_EQ(ended.status, ExitStatus::interrupted) << ended.error;
    EXPECT_NE(ended.error.find("interrupted: saved " + file + " after "), std::string::npos) << ended.error;
    EXPECT_EQ(train_until({.ranks = ranks, .resume = true, .file = file}).weights, undisturbed);
  }
}

sighandler_t handler_of(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

TEST(Preemption, LeavesInterruptsAsTheyAreOutsideOfTraining) {
  const TempDir dir;
  const auto before = std::signal(SIGINT, SIG_DFL);
  sighandler_t within = SIG_DFL;
  const auto train = [&] {
    train_until({.at_step = [&](int, std::int64_t) { within = handler_of(SIGINT); },
                 .file = dir / "on-signal.h5",
                 .on_interrupt = [] {}});
  };
  train();
  EXPECT_NE(within, SIG_DFL);
  EXPECT_EQ(handler_of(SIGINT), SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // as in the background of a shell
  train();
  EXPECT_EQ(within, SIG_IGN);
  std::signal(SIGINT, before);
}

volatile std::sig_atomic_t interrupts_heard = 0;

// Nothing is left to save, so it does what it would have done without the training.
TEST(Preemption, AnInterruptAfterTheLastStepComesWhenTheTrainingHasEnded) {
  const TempDir dir;
  const auto before = std::signal(SIGINT, [](int) { interrupts_heard = interrupts_heard + 1; });
  interrupts_heard = 0;
  Model model = small_model();
  LambdaCallback late({.on_epoch_end = [](std::int64_t epoch, Logs&) {
    if (epoch == 1) std::raise(SIGINT);
    EXPECT_EQ(interrupts_heard, 0);
  }});
  Preemption preemption({.filepath = dir / "on-signal.h5", .on_interrupt = [] {}});
  const History history =
      model.fit(small_images(8), {.epochs = 2, .callbacks = {&late, &preemption}, .verbose = 0});
  EXPECT_EQ(history.epochs.size(), 2u);
  EXPECT_EQ(interrupts_heard, 1);
  EXPECT_FALSE(std::filesystem::exists(dir / "on-signal.h5"));
  std::signal(SIGINT, before);
}

TEST(Preemption, DoesNotClaimToHaveSavedWhatItHasNot) {
  const TempDir dir;
  atomic_write_file(dir / "file", "");
  const PreemptionOutcome ended = train_until({.at_step =
                                                   [](int, std::int64_t steps) {
                                                     if (steps == 2) std::raise(SIGTERM);
                                                   },
                                               .file = (dir / "file") + "/on-signal.h5"});
  EXPECT_EQ(ended.status, ExitStatus::io) << ended.error;
}

TEST(Preemption, SaysThatTheDiskWasFull) {
  const TempDir dir;
  const std::string file = dir / "on-signal.h5";
  std::optional<FileSizeLimit> full;
  const PreemptionOutcome ended = train_until({.at_step =
                                                   [&](int, std::int64_t steps) {
                                                     if (steps != 2) return;
                                                     full.emplace(1000);
                                                     std::raise(SIGUSR2);
                                                   },
                                               .file = file});
  EXPECT_EQ(ended.status, ExitStatus::io);
  EXPECT_EQ(ended.error, cat("[fit] told to end by a signal, but what was done could not be saved: ", file,
                             ": writing failed: File too large"));
  EXPECT_EQ(ended.steps, std::vector<std::int64_t>{2});
}

}  // namespace
}  // namespace ronde::test
