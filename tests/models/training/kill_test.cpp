// A program that is killed (kill -9) at any point and started again ends with the weights it would have had.
// This process only forks: it must not start a thread of its own, which a child would not have.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>

#include <ronde/models/file_io.h>
#include <ronde/models/latest_checkpoint.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/reduce_lr_on_plateau.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using std::chrono::steady_clock;

constexpr std::int64_t kSamples = 14, kBatch = 6, kMicroBatch = 2, kEpochs = 4;
constexpr int kLossesOfARun = 28;  // 3 + 3 + 1 pieces an epoch on one rank

/// Where a life of the program ends.
struct Death {
  double part_of_run = 2.0;  ///< of the time that a whole run takes; the parent kills
  int loss_call = -1;        ///< or here: it kills itself, in the middle of an accumulation
};

/// Ends the process at one of its calls.
class DeadlyLoss : public CategoricalCrossentropy {
 public:
  explicit DeadlyLoss(int calls) : calls_(calls) {}
  Variable operator()(const Variable& output, const Tensor& target) const override {
    if (calls_-- == 0) ::kill(::getpid(), SIGKILL);
    return CategoricalCrossentropy::operator()(output, target);
  }

 private:
  mutable int calls_;
};

std::string result_file(const std::string& dir) {
  return dir + "/result";
}

/// What the program does each time it is started. Saves after every step.
void live(const std::string& dir, int ranks, int deadly_call) {
  const InMemoryDataset data = small_images(kSamples);
  const LatestCheckpoint latest = latest_checkpoint(dir + "/{epoch}-{batch}.h5");
  require(latest.skipped.empty(), "a damaged checkpoint: ", latest.skipped.empty() ? "" : latest.skipped[0]);
  test::run_ranks(ranks, [&](Communicator& world) {
    Model model(std::make_unique<Sequential>(Flatten(), Dropout(0.2),
                                             Dense({.units = 3, .activation = Activation::softmax})),
                {6, 6, 1}, {.communicator = &world, .seed = 8, .backend = &backend("cpu")});
    model.compile({.optimizer = std::make_unique<Adam>(), .loss = std::make_unique<DeadlyLoss>(deadly_call)});
    if (!latest.path.empty()) model.load_weights(latest.path);
    ModelCheckpoint files({.filepath = dir + "/{epoch}-{batch}.h5", .save_steps = 1, .keep = 2});
    // Decides after every second epoch.
    ReduceLROnPlateau reduce({.monitor = "loss", .factor = 0.5, .patience = 2, .min_delta = 10});
    const History history = model.fit(data, {.global_batch_size = kBatch,
                                             .epochs = kEpochs,
                                             .resume = !latest.path.empty(),
                                             .micro_batch = kMicroBatch,
                                             .callbacks = {&files, &reduce},
                                             .verbose = 0});
    const std::string result = cat(model.weights_sha256(), " ", model.optimizer().learning_rate(), " ",
                                   history.values.at("loss")[0], " ", history.values.at("loss")[kEpochs - 1]);
    if (world.rank() == 0) atomic_write_file(result_file(dir), result);
  });
}

/// Runs the program until it ends or dies; whether it ended well.
bool start(const std::string& dir, int ranks, const Death& death, double seconds_of_a_run) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      live(dir, ranks, death.loss_call);
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
  }
  int status = 0;
  if (death.loss_call < 0) {
    const auto end =
        steady_clock::now() + std::chrono::duration<double>(death.part_of_run * seconds_of_a_run);
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (steady_clock::now() >= end) ::kill(child, SIGKILL);
      ::usleep(200);
    }
  } else {
    ::waitpid(child, &status, 0);
  }
  const bool ended = WIFEXITED(status);
  EXPECT_TRUE(ended ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL) << "status " << status;
  return ended;
}

struct Undisturbed {
  std::string result;
  double seconds = 0.0;
};

Undisturbed run_undisturbed(int ranks) {
  const TempDir dir(memory_directory());
  const auto begin = steady_clock::now();
  EXPECT_TRUE(start(dir.path(), ranks, {.part_of_run = 1e6}, 1.0));
  return {read_file(result_file(dir.path())),
          std::chrono::duration<double>(steady_clock::now() - begin).count()};
}

TEST(Kill, AtAnyPointThenResumedEndsWithTheSameWeights) {
  constexpr int kSchedules = 50, kMostDeaths = 3;
  const std::vector<Undisturbed> undisturbed{run_undisturbed(1), run_undisturbed(2)};
  std::mt19937 random(20261121);
  int deaths = 0;
  for (int schedule = 0; schedule < kSchedules; ++schedule) {
    SCOPED_TRACE(schedule);
    const int ranks = 1 + schedule % 2;
    const Undisturbed& expected = undisturbed[static_cast<std::size_t>(ranks - 1)];
    const TempDir dir(memory_directory());
    bool ended = false;
    for (int life = 0; life < kMostDeaths && !ended; ++life) {
      Death death;
      if (ranks == 1 && random() % 2 == 0)
        death.loss_call = static_cast<int>(random() % (kLossesOfARun / 2));
      else
        death.part_of_run = 0.001 * static_cast<double>(random() % 1000);
      ended = start(dir.path(), ranks, death, expected.seconds);
      deaths += !ended;
    }
    if (!ended) {
      ASSERT_TRUE(start(dir.path(), ranks, {.part_of_run = 1e6}, 1.0));
    }
    EXPECT_EQ(read_file(result_file(dir.path())), expected.result);
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
      EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path() << " is left";
  }
  // Those by the clock come too late on a machine that was slow only while it was measured.
  EXPECT_GE(deaths, kSchedules / 2) << "it died too seldom to prove anything";
}

}  // namespace
}  // namespace ronde::test
