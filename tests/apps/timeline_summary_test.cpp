// What is read out of a timeline, against times that were laid out by hand.
#include "report/timeline_summary.h"

#include <gtest/gtest.h>

#include <ronde/core/error.h>

#include "report/html_report.h"
#include "report/report_json.h"
#include "report/timeline_rows.h"

namespace ronde::apps {
namespace {

struct Line {
  int rank, thread;
  const char* category;
  const char* name;
  double begin, length;  // microseconds
};

std::string timeline(const std::vector<Line>& lines, const std::string& facts = "") {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"made by\":\"Ronde\"" + facts +
                     "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\"}";
  for (const Line& line : lines)
    text += cat(",\n{\"ph\":\"X\",\"ts\":", line.begin, ",\"dur\":", line.length, ",\"pid\":", line.rank,
                ",\"tid\":", line.thread, ",\"cat\":\"", line.category, "\",\"name\":\"", line.name, "\"}");
  return text + "]}";
}

/// A step of 1,000 us on rank 0 and the same on rank 1, whose layer takes 100 us longer.
std::vector<Line> two_ranks() {
  return {{0, 0, "step", "step", 0, 1000},
          {0, 0, "callback", "on_train_batch_begin", 0, 50},
          {0, 0, "loader", "wait for batch", 50, 100},
          {0, 0, "forward", "forward", 150, 200},
          {0, 0, "forward", "block", 150, 190},
          {0, 0, "forward", "block/conv2d", 160, 100},
          {0, 0, "backward", "backward", 350, 300},
          {0, 0, "backward", "block/conv2d", 360, 250},
          {0, 0, "launch", "launch bucket", 620, 10},
          {0, 0, "wait", "wait for gradients", 650, 200},
          {0, 0, "wait", "wait for collective", 650, 200},
          {0, 0, "optimizer", "update weights", 850, 100},
          {0, 1, "communication", "allreduce", 625, 225},
          {0, 1, "meeting", "wait for ranks", 625, 125},
          {0, 1, "transfer", "move data", 750, 100},
          {1, 0, "step", "step", 0, 1000},
          {1, 0, "loader", "wait for batch", 50, 100},
          {1, 0, "forward", "forward", 150, 200},
          {1, 0, "backward", "backward", 350, 480},
          {1, 0, "wait", "wait for gradients", 830, 20},
          {1, 1, "transfer", "move data", 750, 100},
          // Behind the step: of no interest.
          {1, 0, "evaluation", "evaluation", 1100, 500},
          {1, 0, "forward", "block/conv2d", 1150, 400}};
}

TEST(TimelineSummary, TellsWhereAStepGoes) {
  const TimelineSummary summary = summarize_timeline(
      timeline(two_ranks(), ",\"clocks agree within microseconds\":2.5,\"events lost\":7"), "t");
  ASSERT_EQ(summary.ranks.size(), 2u);
  const RankSteps& rank = summary.ranks[0];
  EXPECT_EQ(rank.steps, 1);
  constexpr double kExact = 1e-12;
  EXPECT_NEAR(rank.total, 1000e-6, kExact);
  EXPECT_NEAR(rank.callbacks, 50e-6, kExact);
  EXPECT_NEAR(rank.loader, 100e-6, kExact);
  EXPECT_NEAR(rank.compute, 600e-6, kExact);
  EXPECT_NEAR(rank.exchange, 100e-6, kExact);
  EXPECT_NEAR(rank.waiting, 100e-6, kExact);
  EXPECT_NEAR(rank.other(), 50e-6, kExact);
  EXPECT_NEAR(summary.ranks[1].exchange, 20e-6, kExact);
  EXPECT_NEAR(summary.ranks[1].waiting, 0.0, kExact);
  EXPECT_NEAR(summary.communication, 100e-6, kExact);
  EXPECT_NEAR(summary.hidden, 0.4, 1e-9);  // 80 us of 200
  EXPECT_NEAR(summary.clock_error, 2.5e-6, kExact);
  EXPECT_EQ(summary.lost, 7);
}

TEST(TimelineSummary, NamesTheRankThatHasMostToDo) {
  const TimelineSummary summary = summarize_timeline(timeline(two_ranks()), "t");
  ASSERT_NE(summary.slowest_rank(), nullptr);
  EXPECT_EQ(summary.slowest_rank()->rank, 1);
  EXPECT_NEAR(summary.slowest_rank_excess(), 980.0 / 800.0 - 1.0, 1e-9);
  TimelineSummary alone;
  alone.ranks = {{.rank = 0, .steps = 1, .total = 1.0}};
  EXPECT_EQ(alone.slowest_rank(), nullptr);
}

// The lower of the two in the middle.
TEST(TimelineSummary, TheSlowestRankIsComparedWithTheMiddleOfTheOthers) {
  std::vector<Line> lines;
  for (const auto& [rank, work] : {std::pair{0, 100.0}, {1, 400.0}, {2, 200.0}})
    lines.push_back({rank, 0, "step", "step", 0, work});
  const TimelineSummary summary = summarize_timeline(timeline(lines), "t");
  EXPECT_EQ(summary.slowest_rank()->rank, 1);
  EXPECT_NEAR(summary.slowest_rank_excess(), 3.0, 1e-9);
}

TEST(TimelineSummary, ExchangeIsWhereWaitsAndTransfersOverlap) {
  const TimelineSummary summary = summarize_timeline(timeline({{0, 0, "step", "step", 0, 1000},
                                                               {0, 0, "wait", "wait for gradients", 100, 100},
                                                               {0, 0, "wait", "wait for gradients", 400, 300},
                                                               {0, 0, "loader", "wait for batch", 500, 150},
                                                               {0, 1, "transfer", "move data", 50, 100},
                                                               {0, 1, "transfer", "move data", 180, 40},
                                                               {0, 1, "transfer", "move data", 190, 10},
                                                               {0, 1, "transfer", "move data", 400, 300},
                                                               {0, 1, "transfer", "move data", 1200, 300}}),
                                                     "t");
  ASSERT_EQ(summary.ranks.size(), 1u);
  // Data moved in 50 and 20 of the first wait and in all of the second, which is less by the wait for a batch
  // in it.
  EXPECT_NEAR(summary.ranks[0].loader, 150e-6, 1e-12);
  EXPECT_NEAR(summary.ranks[0].exchange, 250e-6, 1e-12);
  EXPECT_NEAR(summary.ranks[0].waiting, 0.0, 1e-12);
  EXPECT_NEAR(summary.communication, 440e-6, 1e-12) << "in steps: 100 + 40 + 300";
}

TEST(TimelineSummary, LayersThatTakeMostComeFirst) {
  const TimelineSummary summary = summarize_timeline(timeline({{0, 0, "step", "step", 0, 1000},
                                                               {0, 0, "forward", "a", 0, 20},
                                                               {0, 0, "forward", "b", 20, 10},
                                                               {0, 0, "backward", "b", 30, 40},
                                                               {0, 0, "backward", "a", 70, 10}}),
                                                     "t");
  ASSERT_EQ(summary.layers.size(), 2u);
  EXPECT_EQ(summary.layers[0].name, "b");
}

TEST(TimelineSummary, ChargesALayerItsOwnTimeInStepsOnly) {
  const TimelineSummary summary = summarize_timeline(timeline(two_ranks()), "t");
  ASSERT_EQ(summary.layers.size(), 2u);  // averages over two ranks
  EXPECT_EQ(summary.layers[0].name, "block/conv2d");
  EXPECT_NEAR(summary.layers[0].forward, 50e-6, 1e-12);
  EXPECT_NEAR(summary.layers[0].backward, 125e-6, 1e-12);
  EXPECT_EQ(summary.layers[1].name, "block");
  EXPECT_NEAR(summary.layers[1].forward, 45e-6, 1e-12);
}

TEST(TimelineSummary, ComputationInACallbackIsTheCallbacks) {
  const TimelineSummary summary =
      summarize_timeline(timeline({{0, 0, "step", "step", 0, 100},
                                   {0, 0, "callback", "on_train_batch_end", 10, 80},
                                   {0, 0, "evaluation", "evaluation", 20, 60},
                                   {0, 0, "forward", "conv2d", 30, 40},
                                   {0, 0, "loader", "wait for batch", 72, 5}}),
                         "t");
  ASSERT_EQ(summary.ranks.size(), 1u);
  EXPECT_NEAR(summary.ranks[0].compute, 0.0, 1e-12);
  EXPECT_NEAR(summary.ranks[0].callbacks, 75e-6, 1e-12);
  EXPECT_TRUE(summary.layers.empty());
}

TEST(TimelineSummary, OfNothingIsEmpty) {
  const TimelineSummary summary = summarize_timeline(timeline({}), "t");
  EXPECT_TRUE(summary.ranks.empty());
  EXPECT_NE(summary_text(summary).find("needs a TraceStep in each"), std::string::npos);
}

TEST(TimelineSummary, RefusesOtherFiles) {
  const std::string endless = timeline({{0, 0, "step", "outer", 0, 1e300}});
  for (const char* other : {"", "{}", "{\"traceEvents\":[]}", "[]", endless.c_str(),
                            "{\"otherData\":{\"made by\":\"somebody\"},\"traceEvents\":[]}",
                            "{\"otherData\":{\"made by\":\"Ronde\"},\"traceEvents\":[\n{\"ph\":\"X\"]}"}) {
    try {
      summarize_timeline(other, "file.json");
      ADD_FAILURE() << other;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("file.json: ")) << error.what();
    }
  }
}

TEST(TimelineRows, ReadsWhatAKilledProcessLeft) {
  std::string text = timeline({{0, 0, "step", "outer", 0, 10}, {0, 0, "step", "inner", 0, 5}});
  text.insert(text.find(",\n{\"ph\":\"X\""), 300, ' ');
  text.insert(text.size() - 2, 50, ' ');
  text.append(4000, ' ');
  const TimelineRows rows = read_timeline_rows(text, "t");
  ASSERT_EQ(rows.rows.size(), 1u);
  EXPECT_EQ(rows.rows.begin()->second.size(), 2u);
}

TEST(TimelineSummary, IsKeptWithTheRun) {
  RunReport run;
  run.timeline =
      summarize_timeline(timeline(two_ranks(), ",\"recording ended early\":\"rank 0: full\""), "t");
  RunReport again;
  parse_details(details_json(run), "details", again);
  ASSERT_TRUE(again.timeline);
  EXPECT_EQ(summary_text(*again.timeline), summary_text(*run.timeline));
  EXPECT_EQ(again.timeline->ended_early, "rank 0: full");
  EXPECT_EQ(html_report(again), html_report(run));
  EXPECT_NE(html_report(run).find("block/conv2d"), std::string::npos);
}

}  // namespace
}  // namespace ronde::apps
