#include <ronde/models/csv_logger.h>

#include <gtest/gtest.h>

#include <filesystem>

#include <ronde/models/file_io.h>
#include <ronde/models/lambda_callback.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::testing {
namespace {

/// Two epochs whose logs are loss, accuracy and, in the first one, `lr`.
void run(CSVLoggerOptions options, Communicator* communicator = nullptr, std::int64_t first = 0) {
  Model model = small_model({.communicator = communicator});
  LambdaCallback script({.on_epoch_end = [](std::int64_t epoch, Logs& logs) {
    logs.set("loss", 0.5 / static_cast<double>(epoch + 1));
    logs.set("accuracy", 0.75);
    if (epoch == 0) logs.set("lr", 0.1);
  }});
  CSVLogger logger(std::move(options));
  model.fit(small_images(8),
            {.epochs = first + 2, .initial_epoch = first, .callbacks = {&script, &logger}, .verbose = 0});
}

TEST(CSVLogger, WritesKerasTable) {
  const TempDir dir;
  run({.filename = dir / "logs/training.csv"});
  EXPECT_EQ(read_file(dir / "logs/training.csv"),
            "epoch,accuracy,loss,lr\r\n0,0.75,0.5,0.1\r\n1,0.75,0.25,NA\r\n");
}

TEST(CSVLogger, AppendsWithoutASecondHeader) {
  const TempDir dir;
  run({.filename = dir / "a.csv", .separator = ';', .append = true});
  run({.filename = dir / "a.csv", .separator = ';', .append = true}, nullptr, 4);
  EXPECT_EQ(read_file(dir / "a.csv"),
            "epoch;accuracy;loss;lr\r\n0;0.75;0.5;0.1\r\n1;0.75;0.25;NA\r\n4;0.75;0.1\r\n5;0.75;0."
            "08333333333333333\r\n");
}

TEST(CSVLogger, OnlyRankZeroWritesAndAFailureReachesAll) {
  const TempDir dir;
  test::run_ranks(2, [&](Communicator& world) {
    run({.filename = world.rank() == 0 ? dir / "a.csv" : dir / "b.csv"}, &world);
  });
  EXPECT_TRUE(std::filesystem::exists(dir / "a.csv"));
  EXPECT_FALSE(std::filesystem::exists(dir / "b.csv"));
  for (const auto& error : test::run_ranks_collecting(
           2, [&](Communicator& world) { run({.filename = dir / "a.csv/below.csv"}, &world); }))
    EXPECT_TRUE(error);
}

}  // namespace
}  // namespace ronde::testing
