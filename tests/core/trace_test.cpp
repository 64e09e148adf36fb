#include <ronde/core/trace_recorder.h>

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/core/ops.h>

namespace ronde {
namespace {

struct Seen {
  std::map<int, std::vector<TraceEvent>> events;  // by thread
  std::map<int, std::string> names;
  std::int64_t lost = 0;

  std::vector<TraceEvent> all() const {
    std::vector<TraceEvent> result;
    for (const auto& [id, of_thread] : events)
      result.insert(result.end(), of_thread.begin(), of_thread.end());
    return result;
  }
};

void drain_into(TraceRecorder& recorder, Seen& seen) {
  recorder.drain([&](const TraceThread& thread, std::span<const TraceEvent> events) {
    seen.events[thread.id].insert(seen.events[thread.id].end(), events.begin(), events.end());
    if (thread.name != nullptr) seen.names[thread.id] = thread.name;
    seen.lost += thread.lost;
  });
}

TEST(Trace, RecordsScopesOnlyWhileARecorderLives) {
  Seen seen;
  { const TraceScope scope("test", "before"); }
  {
    TraceRecorder recorder;
    EXPECT_TRUE(is_tracing());
    { const TraceScope scope("test", "within", {"bytes", 12}, {"op", "conv2d"}); }
    recorder.stop();
    { const TraceScope scope("test", "after"); }
    drain_into(recorder, seen);
  }
  EXPECT_FALSE(is_tracing());
  const std::vector<TraceEvent> events = seen.all();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_STREQ(events[0].name, "within");
  EXPECT_STREQ(events[0].category, "test");
  EXPECT_STREQ(events[0].first.key, "bytes");
  EXPECT_EQ(events[0].first.value, 12);
  EXPECT_STREQ(events[0].second.text, "conv2d");
  EXPECT_LE(events[0].begin, events[0].end);
}

TEST(Trace, ScopesNestAndEndsAreInOrder) {
  TraceRecorder recorder;
  {
    const TraceScope outer("test", "outer");
    { const TraceScope inner("test", "inner 1"); }
    { const TraceScope inner("test", "inner 2"); }
  }
  Seen seen;
  drain_into(recorder, seen);
  const std::vector<TraceEvent> events = seen.all();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_STREQ(events[2].name, "outer");
  for (const int inner : {0, 1}) {
    EXPECT_GE(events[inner].begin, events[2].begin);
    EXPECT_LE(events[inner].end, events[2].end);
  }
  EXPECT_LE(events[0].end, events[1].begin);
}

TEST(Trace, AScopeThatBeganBeforeTheRecorderIsNotItsOwn) {
  auto first = std::make_unique<TraceRecorder>();
  auto open = std::make_unique<TraceScope>("test", "of the first");
  first.reset();
  TraceRecorder second;
  open.reset();
  { const TraceScope scope("test", "of the second"); }
  Seen seen;
  drain_into(second, seen);
  ASSERT_EQ(seen.all().size(), 1u);
  EXPECT_STREQ(seen.all()[0].name, "of the second");
}

TEST(Trace, OneRecorderAtATime) {
  const TraceRecorder recorder;
  EXPECT_THROW(TraceRecorder(), UsageError);
  EXPECT_TRUE(is_tracing());
}

TEST(Trace, RecordsTheStepsOfItsWindow) {
  TraceRecorder recorder({.first_step = 2, .last_step = 3});
  for (std::int64_t step = 1; step <= 5; ++step) {
    const TraceStep traced(step);
    const TraceScope scope("test", "within");
  }
  Seen seen;
  drain_into(recorder, seen);
  const std::vector<TraceEvent> events = seen.all();
  ASSERT_EQ(events.size(), 4u);  // as they end
  EXPECT_STREQ(events[0].name, "within");
  EXPECT_STREQ(events[1].category, "step");
  EXPECT_EQ(events[1].first.value, 2);
  EXPECT_EQ(events[3].first.value, 3);
  EXPECT_THROW(TraceRecorder({.first_step = 0}), UsageError);
}

TEST(Trace, CountsWhatFindsNoPlace) {
  TraceRecorder recorder;
  for (std::int64_t i = 0; i < TraceRecorder::kRingEvents + 10; ++i) TraceScope("test", "one");
  Seen seen;
  drain_into(recorder, seen);
  EXPECT_EQ(std::ssize(seen.all()), TraceRecorder::kRingEvents);
  EXPECT_EQ(seen.lost, 10);
  { const TraceScope scope("test", "there is place again"); }
  drain_into(recorder, seen);
  EXPECT_EQ(std::ssize(seen.all()), TraceRecorder::kRingEvents + 1);
  EXPECT_EQ(seen.lost, 10);
}

TEST(Trace, ThreadsRecordWhileTheyAreDrained) {
  constexpr std::int64_t kThreads = 4, kEvents = 30000;
  Seen seen;
  {
    TraceRecorder recorder;
    std::atomic<std::int64_t> running = kThreads;
    std::vector<std::thread> threads;
    for (std::int64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (std::int64_t i = 0; i < kEvents; ++i) TraceScope("test", "event", {"thread", t}, {"number", i});
        --running;
      });
    while (running > 0) drain_into(recorder, seen);
    for (std::thread& thread : threads) thread.join();
    drain_into(recorder, seen);
  }
  EXPECT_EQ(std::ssize(seen.all()) + seen.lost, kThreads * kEvents);
  for (const auto& [id, events] : seen.events)
    for (std::size_t i = 1; i < events.size(); ++i) {
      ASSERT_EQ(events[i].first.value, events[0].first.value) << "two threads in one row";
      ASSERT_GT(events[i].second.value, events[i - 1].second.value);
    }
}

TEST(Trace, AThreadOfTheSameNameTakesTheRowOfOneThatEnded) {
  TraceRecorder recorder;
  Seen seen;
  for (const char* name : {"loader", "loader", "writer"}) {
    std::thread([name] {
      name_trace_thread(name);
      const TraceScope scope("test", "work");
    }).join();
    drain_into(recorder, seen);
  }
  std::map<std::string, std::size_t> events_of;
  for (const auto& [id, name] : seen.names) events_of[name] += seen.events.at(id).size();
  EXPECT_EQ(seen.names.size(), 2u);
  EXPECT_EQ(events_of.at("loader"), 2u);
  EXPECT_EQ(events_of.at("writer"), 1u);
}

TEST(Trace, EqualTextsHaveOneName) {
  const std::string text = "dense_1";
  EXPECT_EQ(trace_name(text), trace_name("dense_1"));
  EXPECT_STREQ(trace_name(text), "dense_1");
}

TEST(Trace, BackwardOfAnOperationCarriesItsLayer) {
  TraceRecorder recorder;
  const Variable x = Variable::parameter(Tensor::full({3}, 2.0));
  Variable y;
  {
    const TraceLayer layer("block/dense");
    EXPECT_STREQ(TraceLayer::current(), "block/dense");
    y = x * x;
  }
  EXPECT_EQ(TraceLayer::current(), nullptr);
  sum(y).backward();
  Seen seen;
  drain_into(recorder, seen);
  int forward = 0, backward = 0, others = 0;
  for (const TraceEvent& event : seen.all()) {
    const std::string category = event.category, name = event.name;
    if (name == "block/dense") ++(category == "forward" ? forward : backward);
    if (category == "backward" && name != "block/dense" && name != "backward") ++others;
  }
  EXPECT_EQ(forward, 1);
  EXPECT_EQ(backward, 1);
  EXPECT_EQ(others, 1);  // the sum, in no layer
}

TEST(Trace, TagsAreOfTheInnermostScope) {
  EXPECT_EQ(TraceTag::current().key, nullptr);
  const TraceTag outer({"bucket", 1});
  {
    const TraceTag inner({"bucket", 2});
    EXPECT_EQ(TraceTag::current().value, 2);
  }
  EXPECT_EQ(TraceTag::current().value, 1);
}

}  // namespace
}  // namespace ronde
