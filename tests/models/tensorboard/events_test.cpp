// Bytes against those that TensorFlow wrote, and against a reader of their own.
#include "tensorboard/events.h"

#include <gtest/gtest.h>

#include <cmath>

#include <ronde/models/summary_writer.h>

#include "models/callbacks/keras_callbacks.h"
#include "models/file_size_limit.h"
#include "models/tensorboard/event_reader.h"
#include "support/temp_dir.h"
#include "tensorboard/crc32c.h"
#include "tensorboard/orphans.h"
#include "tensorboard/record.h"

namespace ronde::test {
namespace {

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(slow_crc32c("123456789"), 0xE3069283u);  // the published check value
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(masked_crc32c(bytes), slow_masked_crc32c(bytes)) << i;
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Events, AreTensorFlowsBytes) {
  const ConfigValue expected = keras_callbacks("3.15.1").at("event_bytes");
  const auto compare = [&](const char* name, const std::string& event) {
    EXPECT_EQ(hex_digits(encode_record(event)), expected.at(name).as_string()) << name;
  };
  const double time = 1.7e9;
  compare("file_version", file_version_event(time));
  compare("scalar", summary_event({time, 3}, scalar_value("epoch_loss", 0.25)));
  compare("scalar_step_0", summary_event({time, 0}, scalar_value("epoch_loss", 0.25)));
  compare("scalar_large_step", summary_event({time, 123456789012}, scalar_value("epoch_loss", 0.25)));
  const Histogram histogram{.min = -1,
                            .max = 2,
                            .count = 3,
                            .sum = 1.5,
                            .sum_of_squares = 5.25,
                            .right_edges = {0, 1, 2},
                            .counts = {1, 1, 1}};
  compare("histogram", summary_event({time, 1}, histogram_value("w/histogram", histogram)));
  const std::string png("\x89PNG\x00\xff", 6);
  compare("image", summary_event({time, 2}, image_value("samples/0", {2, 3, 1}, png)));
  compare("text", summary_event({time, 4}, text_value("note", "a | b")));
  compare("restart", restart_event({time, 7}));
}

TEST(Histogram, HasTensorFlowsBuckets) {
  const ConfigValue cases = keras_callbacks("3.15.1").at("histograms");
  ASSERT_EQ(cases.as_list().size(), 5u);
  for (const ConfigValue& one : cases.as_list()) {
    const std::vector<double> values = numbers_of(one.at("values"));
    const Histogram histogram = make_histogram(values);
    const ConfigList& buckets = one.at("buckets").as_list();  // left, right, count
    ASSERT_EQ(histogram.counts.size(), buckets.size());
    ASSERT_EQ(histogram.right_edges.size(), buckets.size());
    EXPECT_EQ(histogram.min, buckets[0].as_list()[0].as_double());
    double sum = 0.0, squares = 0.0;
    for (const double value : values) sum += value, squares += value * value;
    EXPECT_EQ(histogram.sum, sum);
    EXPECT_EQ(histogram.sum_of_squares, squares);
    EXPECT_EQ(histogram.count, static_cast<double>(values.size()));
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_NEAR(histogram.right_edges[i], buckets[i].as_list()[1].as_double(), 1e-12) << i;
      EXPECT_EQ(histogram.counts[i], buckets[i].as_list()[2].as_double()) << i << " of " << values.size();
    }
  }
}

TEST(Histogram, CountsFiniteValuesOnly) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(make_histogram({}).counts.empty());
  EXPECT_TRUE(make_histogram({nan, infinity, -infinity}).counts.empty());
  EXPECT_EQ(make_histogram({nan, 1.0, infinity, 2.0}).count, 2.0);
}

TEST(Record, EndsWhereBytesAreMissingOrWrong) {
  const std::string whole = encode_record("first") + encode_record("");
  std::string_view rest = whole;
  EXPECT_EQ(take_record(rest), "first");
  EXPECT_EQ(take_record(rest), "");
  EXPECT_FALSE(take_record(rest));
  const std::string record = encode_record("payload");
  for (std::size_t size = 0; size < record.size(); ++size) {
    std::string_view cut = std::string_view(record).substr(0, size);
    EXPECT_FALSE(take_record(cut)) << size;
    std::string damaged = record;
    damaged[size] = static_cast<char>(damaged[size] ^ 1);
    std::string_view view = damaged;
    EXPECT_FALSE(take_record(view)) << size;
  }
}

TEST(SummaryWriter, WritesWhatReadersFind) {
  const TempDir dir;
  {
    SummaryWriter writer(dir / "logs/run");
    writer.scalar("loss", 0.5, 7);
    writer.text("note", "*hello*", 1);
    writer.histogram("h", Tensor::from<float>({2, 2}, {1, 2, 3, 4}), 2);
    writer.image("picture", Tensor::full({2, 3, 1}, 9, {.dtype = DType::u8}), 3);
    writer.keras_model("keras", "{}", 0);
    writer.restart(5);
    EXPECT_EQ(read_records(read_file(writer.path())).size(), 1u) << "the rest waits for a flush";
    writer.flush();
    EXPECT_EQ(read_records(read_file(writer.path())).size(), 7u);
    writer.scalar("late", 1, 8);
  }
  const std::vector<Event> events = read_events(dir / "logs/run");
  ASSERT_EQ(events.size(), 8u);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_NEAR(events[0].wall_time, static_cast<double>(std::time(nullptr)), 60);
  EXPECT_EQ(events[1].scalar, 0.5);
  EXPECT_EQ(events[1].step, 7);
  EXPECT_EQ(events[2].text, "*hello*");
  EXPECT_EQ(events[2].plugin, "text");
  EXPECT_EQ(read_number<double>(field(events[3].histogram, 2)), 4.0);
  EXPECT_EQ(integer_field(events[4].image, 2), 3);
  EXPECT_TRUE(field(events[4].image, 4).starts_with("\x89PNG"));
  EXPECT_EQ(events[5].plugin, "graph_keras_model");
  EXPECT_TRUE(events[6].restart);
  EXPECT_EQ(events[7].tag, "late");
}

TEST(SummaryWriter, EachHasItsFile) {
  const TempDir dir;
  const SummaryWriter first(dir.path()), second(dir.path());
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(read_events(dir.path()).size(), 2u);
  atomic_write_file(dir / "file", "");
  EXPECT_THROW(SummaryWriter(dir / "file/below"), IoError);
}

TEST(SummaryWriter, FullDiskLosesNothing) {
  const TempDir dir;
  SummaryWriter writer(dir.path());
  {
    const FileSizeLimit limit(2000);
    for (int i = 0; i < 100; ++i) writer.scalar("x", i, i);
    EXPECT_THROW(writer.flush(), IoError);
    EXPECT_EQ(read_events(dir.path()).size(), 1u) << "no half of a record";
  }
  writer.scalar("x", 100, 100);
  writer.flush();
  EXPECT_EQ(read_events(dir.path()).size(), 102u);
}

TEST(Orphans, AreWhatLiesBehindThePoint) {
  const TempDir dir;
  {
    SummaryWriter writer(dir.path());
    for (const std::int64_t step : {1, 2, 3, 4, 5})
      for (const char* tag :
           {"epoch_loss", "dense/kernel/histogram", "batch_loss", "evaluation_loss_vs_iterations", "mine"})
        writer.scalar(tag, 0, step);
    writer.keras_model("keras", "{}", 0);
  }
  const auto entry = *std::filesystem::directory_iterator(dir.path());
  const std::string before = read_file(entry.path());
  atomic_write_file(entry.path(), before + encode_record("cut short").substr(0, 20));
  drop_orphans(dir.path(), {.epoch = 2, .steps = 3, .iterations = 4});
  std::map<std::string, std::int64_t> last;
  for (const Event& event : read_events(dir.path())) last[event.tag] = event.step;
  EXPECT_EQ(last, (std::map<std::string, std::int64_t>{{"", 0},
                                                       {"epoch_loss", 1},
                                                       {"dense/kernel/histogram", 1},
                                                       {"batch_loss", 3},
                                                       {"evaluation_loss_vs_iterations", 4},
                                                       {"mine", 5},
                                                       {"keras", 0}}));
  const std::string after = read_file(entry.path());
  drop_orphans(dir.path(), {.epoch = 2, .steps = 3, .iterations = 4});
  EXPECT_EQ(read_file(entry.path()), after);
  drop_orphans(dir / "missing", {});
}

}  // namespace
}  // namespace ronde::test
