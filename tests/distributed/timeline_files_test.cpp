// The files of a timeline: valid JSON at every instant. Forks, so nothing here may start a thread before.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ronde/core/error.h>
#include <ronde/distributed/timeline.h>

#include "support/temp_dir.h"
#include "timeline/event_file.h"
#include "timeline/event_text.h"
#include "timeline/merge.h"

namespace ronde::test {
namespace {

using Json = nlohmann::json;

const std::string kHeader = "{\"traceEvents\":[";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string event(int number, std::size_t length) {
  return "{\"n\":" + std::to_string(number) + ",\"x\":\"" + std::string(length, 'x') + "\"}";
}

TEST(EventFile, IsValidAfterEveryCall) {
  const TempDir dir;
  const std::string path = dir / "events.json";
  EventFile file(path, kHeader);
  EXPECT_EQ(content(path), kHeader + "]}");
  for (int i = 0; i < 60; ++i) {
    file.append(event(i, static_cast<std::size_t>(i * 67 % 1500)));
    if (i % 3 == 0) file.flush();
    const Json json = Json::parse(content(path), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << "after event " << i;
    ASSERT_GE(json.at("traceEvents").size(), static_cast<std::size_t>(i - i % 3 + 1));
  }
  file.close();
  const Json events = Json::parse(content(path)).at("traceEvents");
  for (int i = 0; i < 60; ++i) EXPECT_EQ(events.at(static_cast<std::size_t>(i)).at("n"), i);
  EXPECT_EQ(file.size(), std::ssize(content(path)));
}

TEST(EventFile, AnyLengthsMeetThePageBorder) {
  const TempDir dir;
  const std::string path = dir / "events.json";
  for (std::size_t length = 3960; length < 3985; ++length) {
    EventFile file(path, kHeader);
    for (int i = 0; i < 4; ++i) file.append(event(i, i == 1 ? 3 : length));
    file.flush();
    ASSERT_EQ(Json::parse(content(path)).at("traceEvents").size(), 4u) << length;
  }
  for (std::size_t length = 4070; length < 4100; ++length) {
    EventFile file(path, "{\"a\":\"" + std::string(length, 'h') + "\",\"traceEvents\":[");
    file.append(event(1, 10));
    file.flush();
    ASSERT_EQ(Json::parse(content(path)).at("traceEvents").size(), 1u) << length;
  }
}

TEST(EventFile, IsValidWheneverItsProcessIsKilled) {
  const TempDir dir;
  const std::string path = dir / "events.json";
  std::mt19937 random(7);
  std::size_t most = 0;
  bool has_file = false;  // not when each process was killed before it had one
  for (int life = 0; life < 25; ++life) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      EventFile file(path, kHeader);
      for (int i = 0; i < 3000; ++i) {
        file.append(event(i, static_cast<std::size_t>(i * 67 % 300)));
        if (i % 7 == 0) file.flush();
      }
      ::pause();
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 4000)(random));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    has_file = has_file || ::access(path.c_str(), F_OK) == 0;
    if (!has_file) continue;
    const std::string text = content(path);
    const Json json = Json::parse(text, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << text.substr(text.size() - std::min<std::size_t>(text.size(), 300));
    most = std::max(most, json.at("traceEvents").size());
  }
  EXPECT_GT(most, 0u) << "always killed before the first event";
}

TEST(EventFile, SaysWhyItCannotBeWritten) {
  EXPECT_THROW(EventFile("/nowhere/at/all.json", kHeader), IoError);
}

TEST(EventText, EscapesNames) {
  for (const std::string& name : {std::string("\"quotes\" \\ and\nlines\t\x01"),
                                  std::string("Käse 層 🙂"), std::string("with\0nul", 8), std::string()})
    EXPECT_EQ(Json::parse(json_string(name)).get<std::string>(), name);
  EXPECT_EQ(Json::parse(json_string("a\xff\xc3(\xed\xa0\x80z")).get<std::string>(),
            "a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFDz");
  const std::string cut = Json::parse(json_string(std::string(5000, 'a'))).get<std::string>();
  EXPECT_LT(cut.size(), 500u);
  EXPECT_TRUE(cut.ends_with("..."));
}

TEST(EventText, AnEventWithTheLongestTextsFitsIntoAPage) {
  const std::string hostile(5000, '\x01');
  const char* text = trace_name(hostile);
  const std::string event =
      complete_event({text, text, -1, 5, {text, text}, {text, text}}, 1 << 30, 1 << 30, 0);
  EXPECT_LT(event.size(), EventFile::kLongestEvent);
  EXPECT_TRUE(Json::accept(event));
}

TEST(EventText, IsTheTraceEventFormat) {
  const TraceEvent event{"forward", "conv2d", 1'234'567, 2'000'067, {"bytes", 12}, {"op", "conv"}};
  const Json json = Json::parse(complete_event(event, 3, 2, 1000));
  EXPECT_EQ(json, Json::parse(R"({"ph": "X", "ts": 1235.567, "dur": 765.5, "pid": 3, "tid": 4002,
    "cat": "forward", "name": "conv2d", "args": {"bytes": 12, "op": "conv"}})"));
  EXPECT_EQ(Json::parse(complete_event({"a", "b", 5, 7, {}, {}}, 0, 0, -1'000'010)).at("ts"), -1000.005);
}

TEST(EventText, TimesAreReadAndReplaced) {
  for (const std::int64_t time :
       {std::int64_t{0}, std::int64_t{-7}, std::int64_t{-1'000'001}, std::int64_t{123'456'789'012'345}}) {
    const std::string text = complete_event({"a", "\"ts\":5", time, time + 1, {}, {}}, 0, 0, 0);
    std::int64_t read = -1;
    ASSERT_TRUE(read_time(text, read));
    EXPECT_EQ(read, time);
    EXPECT_EQ(with_time(text, 42'001), complete_event({"a", "\"ts\":5", 42'001, 42'002, {}, {}}, 0, 0, 0));
  }
  std::int64_t none = 0;
  EXPECT_FALSE(read_time(process_name_event(0, "\"ts\":1.000"), none));
}

TEST(SortedEvents, AreThoseOfThePartInOrder) {
  const TempDir dir;
  EventFile file(dir / "part.json", kHeader);
  file.append(process_name_event(0, "rank 0"));
  std::vector<std::string> expected{process_name_event(0, "rank 0")};
  for (std::int64_t i = 0; i < 200; ++i)  // the outer one of two ends later, so it is written later
    file.append(complete_event({"c", "n", 1000 * (i ^ 1), 1000 * i + 5000, {}, {}}, 0, 0, 0));
  file.flush();
  const auto events = sorted_events(content(dir / "part.json"), [](std::int64_t time) { return 2 * time; });
  ASSERT_EQ(events.size(), 201u);
  EXPECT_EQ(events[0], expected[0]);
  for (std::size_t i = 1; i < events.size(); ++i)
    EXPECT_EQ(Json::parse(events[i]).at("ts"), 2.0 * static_cast<double>(i - 1));
  EXPECT_TRUE(sorted_events(kHeader + "]}", [](std::int64_t time) { return time; }).empty());
}

TEST(TimelineSink, WritesBothKindsAndOnlyWhenFinished) {
  const TempDir dir;
  for (const std::string& path : {dir / "t.json", dir / "t.json.gz"}) {
    const auto sink = make_timeline_sink(path, kHeader);
    sink->append(event(1, 5));
    sink->append(event(2, 5));
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
    sink->finish();
    EXPECT_EQ(Json::parse(read_timeline(path)).at("traceEvents").size(), 2u);
  }
  EXPECT_EQ(content(dir / "t.json.gz").substr(0, 2), "\x1f\x8b");
  { const auto unfinished = make_timeline_sink(dir / "u.json", kHeader); }
  EXPECT_TRUE(content(dir / "u.json.unfinished").empty());
}

TEST(ReadTimeline, RefusesWhatIsNotThereOrDamaged) {
  const TempDir dir;
  EXPECT_THROW(read_timeline(dir / "none.json"), IoError);
  const auto sink = make_timeline_sink(dir / "t.json.gz", kHeader);
  for (int i = 0; i < 100; ++i) sink->append(event(i, 50));
  sink->finish();
  const std::string whole = content(dir / "t.json.gz");
  std::ofstream(dir / "half.json.gz", std::ios::binary) << whole.substr(0, whole.size() / 2);
  EXPECT_THROW(read_timeline(dir / "half.json.gz"), InputError);
}

TEST(TraceWindow, IsParsed) {
  EXPECT_EQ(parse_trace_window("100:200").first_step, 100);
  EXPECT_EQ(parse_trace_window("100:200").last_step, 200);
  EXPECT_EQ(parse_trace_window(":7").first_step, 1);
  EXPECT_EQ(parse_trace_window("7:").last_step, TraceWindow().last_step);
  for (const char* wrong : {"", ":", "5", "0:3", "4:3", "a:b", "1:2:3", "1: 2", "-1:4"})
    EXPECT_THROW(parse_trace_window(wrong), UsageError) << wrong;
}

}  // namespace
}  // namespace ronde::test
