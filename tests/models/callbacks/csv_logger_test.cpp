#include <ronde/models/csv_logger.h>

#include <gtest/gtest.h>

#include <filesystem>

#include <ronde/models/file_io.h>
#include <ronde/models/lambda_callback.h>

#include "models/file_size_limit.h"
#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

/// Two epochs whose logs are loss, accuracy and, in the first one, `lr`.
void log_rows(CSVLoggerOptions options, Communicator* communicator = nullptr, std::int64_t first = 0) {
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
  log_rows({.filename = dir / "logs/training.csv"});
  EXPECT_EQ(read_file(dir / "logs/training.csv"),
            "epoch,accuracy,loss,lr,val_accuracy,val_loss,val_lr\r\n0,0.75,0.5,0.1,NA,NA,NA\r\n"
            "1,0.75,0.25,NA,NA,NA,NA\r\n");
}

TEST(CSVLogger, AppendsWithoutASecondHeader) {
  const TempDir dir;
  log_rows({.filename = dir / "a.csv", .separator = ';', .append = true});
  log_rows({.filename = dir / "a.csv", .separator = ';', .append = true}, nullptr, 4);
  EXPECT_EQ(read_file(dir / "a.csv"),
            "epoch;accuracy;loss;lr;val_accuracy;val_loss;val_lr\r\n0;0.75;0.5;0.1;NA;NA;NA\r\n"
            "1;0.75;0.25;NA;NA;NA;NA\r\n4;0.75;0.1;NA;NA\r\n5;0.75;0.08333333333333333;NA;NA\r\n");
}

/// What a run that is resumed at epoch 2 makes of a file, when its epochs 2 and 3 have loss 0.5.
std::string continued(const std::string& text, bool append = false, const std::string& key = "loss") {
  const TempDir dir;
  atomic_write_file(dir / "a.csv", text);
  CSVLogger logger({.filename = dir / "a.csv", .append = append});
  Model model = small_model();
  const TrainingPlan plan{.epochs = 4, .initial_epoch = 2, .resumed = true};
  logger.attach(model, plan);
  logger.on_train_begin(model, plan);
  for (const std::int64_t epoch : {2, 3}) {
    Logs logs;
    logs.set(key, 0.5);
    logger.on_epoch_end(epoch, logs);
  }
  logger.on_train_end({});
  return read_file(dir / "a.csv");
}

TEST(CSVLogger, ResumedRunReplacesTheRowsThatItRepeats) {
  const std::string rows = "0,1.0,NA\r\n1,0.75,NA\r\n", rest = "2,0.5,NA\r\n3,0.5,NA\r\n";
  const std::string header = "epoch,loss,val_loss\r\n";
  EXPECT_EQ(continued(header + rows), header + rows + rest);
  EXPECT_EQ(continued(header + rows + "2,9.0,NA\r\n3,9.0,NA\r\n"), header + rows + rest);
  EXPECT_EQ(continued(header + rows + "2,9.0,NA\r\n3,9"), header + rows + rest) << "cut short";
  EXPECT_EQ(continued(""), header + rest);
  EXPECT_EQ(continued("epo"), header + rest);
  // Columns stay those of the file, whatever the logs have.
  EXPECT_EQ(continued("epoch,\"a,\"\"b\"\"\",loss\r\n0,1.0,2.0\r\n"),
            "epoch,\"a,\"\"b\"\"\",loss\r\n0,1.0,2.0\r\n2,NA,0.5\r\n3,NA,0.5\r\n");
}

TEST(CSVLogger, ResumedRunReadsNamesAsTheyWereWritten) {
  const std::string file = "epoch,\"a,\"\"b\"\"\",loss\r\n0,1.0,2.0\r\n";
  EXPECT_EQ(continued(file, false, "a,\"b\""), file + "2,0.5,NA\r\n3,0.5,NA\r\n");
}

TEST(CSVLogger, ResumedRunKnowsTheColumnsOfAFileWithUnixLines) {
  const std::string file = "epoch,loss,val_loss\n0,1.0,NA\n1,0.75,NA\n";
  EXPECT_EQ(continued(file), file + "2,0.5,NA\r\n3,0.5,NA\r\n");
}

TEST(CSVLogger, ResumedRunKeepsEarlierRunsInTheFile) {
  const std::string header = "epoch,loss,val_loss\r\n", earlier = "0,1.0,NA\r\n1,1.0,NA\r\n2,1.0,NA\r\n";
  EXPECT_EQ(continued(header + earlier + "0,2.0,NA\r\n1,2.0,NA\r\n2,2.0,NA\r\n", true),
            header + earlier + "0,2.0,NA\r\n1,2.0,NA\r\n2,0.5,NA\r\n3,0.5,NA\r\n");
}

TEST(CSVLogger, OnlyRankZeroWritesAndAFailureReachesAll) {
  const TempDir dir;
  test::run_ranks(2, [&](Communicator& world) {
    log_rows({.filename = world.rank() == 0 ? dir / "a.csv" : dir / "b.csv"}, &world);
  });
  EXPECT_TRUE(std::filesystem::exists(dir / "a.csv"));
  EXPECT_FALSE(std::filesystem::exists(dir / "b.csv"));
  for (const auto& error : test::run_ranks_collecting(
           2, [&](Communicator& world) { log_rows({.filename = dir / "a.csv/below.csv"}, &world); }))
    EXPECT_TRUE(error);
}

TEST(CSVLogger, FullDiskIsAWarningAndRowsWait) {
  const TempDir dir;
  std::vector<std::string> problems;
  CSVLogger logger(
      {.filename = dir / "a.csv", .warn = [&](const std::string& problem) { problems.push_back(problem); }});
  Model model = small_model();
  const TrainingPlan plan{.epochs = 3};
  logger.attach(model, plan);
  logger.on_train_begin(model, plan);
  Logs logs;
  logs.set("val_loss", 0.5);
  logger.on_epoch_end(0, logs);
  {
    const FileSizeLimit limit(25);
    logger.on_epoch_end(1, logs);
  }
  EXPECT_EQ(read_file(dir / "a.csv"), "epoch,val_loss\r\n0,0.5\r\n") << "no half of a row";
  logger.on_epoch_end(2, logs);
  EXPECT_EQ(read_file(dir / "a.csv"), "epoch,val_loss\r\n0,0.5\r\n1,0.5\r\n2,0.5\r\n");
  EXPECT_EQ(problems, std::vector<std::string>{(dir / "a.csv") + ": writing failed: File too large"});
  {
    const FileSizeLimit limit(45);
    logger.on_epoch_end(3, logs);
  }
  logger.on_train_end({});
  EXPECT_TRUE(read_file(dir / "a.csv").ends_with("2,0.5\r\n3,0.5\r\n")) << "the end is the last chance";
}

}  // namespace
}  // namespace ronde::test
