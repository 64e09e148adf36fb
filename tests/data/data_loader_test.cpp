#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include <ronde/core/backend.h>
#include <ronde/core/error.h>
#include <ronde/data/data_loader.h>
#include <ronde/data/in_memory_dataset.h>

#include "data/testing.h"

namespace ronde {
namespace {

using testing::host;

/// Sample s is {s, s + 0.5}, its label s mod 7.
InMemoryDataset numbers(std::int64_t size) {
  std::vector<double> inputs;
  std::vector<std::int32_t> labels;
  for (std::int64_t s = 0; s < size; ++s) {
    inputs.push_back(static_cast<double>(s));
    inputs.push_back(static_cast<double>(s) + 0.5);
    labels.push_back(static_cast<std::int32_t>(s % 7));
  }
  return {host<double>({size, 2}, inputs), host<std::int32_t>({size}, labels)};
}

/// What the sampler says must be what the batch holds.
void expect_batch(const Batch* batch, const ShardedSampler& sampler, std::int64_t step) {
  ASSERT_NE(batch, nullptr);
  const std::vector<SampleKey> keys = sampler.samples(step);
  const auto n = static_cast<std::int64_t>(keys.size());
  EXPECT_EQ(batch->step, step);
  EXPECT_EQ(batch->global_count, sampler.global_count(step));
  ASSERT_EQ(batch->size(), n);
  ASSERT_EQ(batch->inputs.shape(), (Shape{n, 2}));
  ASSERT_EQ(batch->targets.shape(), (Shape{n}));
  ASSERT_EQ(batch->sample_keys.shape(), (Shape{n, 2}));
  std::vector<double> inputs;
  std::vector<std::int32_t> targets;
  std::vector<std::int64_t> expected_keys;
  for (const SampleKey& key : keys) {
    inputs.push_back(static_cast<double>(key.sample));
    inputs.push_back(static_cast<double>(key.sample) + 0.5);
    targets.push_back(static_cast<std::int32_t>(key.sample % 7));
    expected_keys.push_back(key.sample);
    expected_keys.push_back(key.epoch);
  }
  EXPECT_EQ(batch->inputs.to_vector<double>(), inputs);
  EXPECT_EQ(batch->targets.to_vector<std::int32_t>(), targets);
  EXPECT_EQ(batch->sample_keys.to_vector<std::int64_t>(), expected_keys);
}

TEST(DataLoader, DeliversWhatTheSamplerSays) {
  const InMemoryDataset data = numbers(50);
  for (const bool repeat : {false, true})
    for (const int world_size : {1, 3, 20})
      for (const int rank : {0, world_size - 1}) {
        DataLoader loader(
            data,
            ShardedSampler(
                {.size = 50, .global_batch = 16, .rank = rank, .world_size = world_size, .repeat = repeat}));
        loader.start(0, 9);
        for (std::int64_t step = 0; step < 9; ++step) expect_batch(loader.next(), loader.sampler(), step);
        EXPECT_EQ(loader.next(), nullptr);
        EXPECT_EQ(loader.next(), nullptr);
      }
}

TEST(DataLoader, DeliversEmptyBatches) {
  const InMemoryDataset data = numbers(3);
  DataLoader loader(data, ShardedSampler({.size = 3, .global_batch = 8, .rank = 5, .world_size = 8}));
  loader.start(0, 2);
  for (std::int64_t step = 0; step < 2; ++step) {
    const Batch* batch = loader.next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->size(), 0);
    EXPECT_EQ(batch->global_count, 3);
    EXPECT_EQ(batch->inputs.shape(), (Shape{0, 2}));
  }
}

TEST(DataLoader, MakesDoubles) {
  const InMemoryDataset data = numbers(5);
  DataLoader loader(data, ShardedSampler({.size = 5, .global_batch = 5}), {.dtype = DType::f64});
  loader.start(0, 1);
  const Batch* batch = loader.next();
  EXPECT_EQ(batch->inputs.dtype(), DType::f64);
  expect_batch(batch, loader.sampler(), 0);
}

TEST(DataLoader, GivesNothingBeforeItIsStarted) {
  const InMemoryDataset data = numbers(5);
  DataLoader loader(data, ShardedSampler({.size = 5, .global_batch = 5}));
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(DataLoader, StartsAnewAtAnyTime) {
  const InMemoryDataset data = numbers(1000);
  DataLoader loader(data, ShardedSampler({.size = 1000, .global_batch = 10}), {.ring = 2});
  for (std::int64_t round = 0; round < 300; ++round) {
    const std::int64_t first = round * 17 % 90;
    loader.start(first, 10);
    for (std::int64_t i = 0; i < round % 4; ++i) expect_batch(loader.next(), loader.sampler(), first + i);
  }
  loader.start(5, 1);
  expect_batch(loader.next(), loader.sampler(), 5);
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(DataLoader, ReusesItsBuffers) {
  const InMemoryDataset data = numbers(100);
  DataLoader loader(data, ShardedSampler({.size = 100, .global_batch = 7}), {.ring = 3});
  loader.start(0, 60);
  std::set<void*> inputs, targets, keys;
  while (const Batch* batch = loader.next()) {
    inputs.insert(batch->inputs.raw());
    targets.insert(batch->targets.raw());
    keys.insert(batch->sample_keys.raw());
  }
  EXPECT_LE(inputs.size(), 3u);
  EXPECT_LE(targets.size(), 3u);
  EXPECT_LE(keys.size(), 3u);
}

/// Fails at one sample; counts the reads.
class Failing : public Dataset {
 public:
  explicit Failing(std::int64_t at) : at_(at) {}
  std::int64_t size() const override { return 100; }
  Shape input_shape() const override { return {1}; }
  void read(std::span<const std::int64_t> samples, const Tensor&, const Tensor&) const override {
    ++reads;
    for (const std::int64_t sample : samples)
      if (sample == at_) throw std::runtime_error("sample " + std::to_string(sample));
  }
  mutable std::atomic<int> reads{0};

 private:
  std::int64_t at_;
};

TEST(DataLoader, RethrowsWhatTheDataSetThrewAfterTheBatchesBefore) {
  const Failing data(35);
  DataLoader loader(data, ShardedSampler({.size = 100, .global_batch = 10, .shuffle = false}));
  for (int round = 0; round < 2; ++round) {
    loader.start(0, 10);
    for (std::int64_t step = 0; step < 3; ++step) EXPECT_EQ(loader.next()->step, step);
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_THROW(loader.next(), std::runtime_error);
  }
  loader.start(4, 2);
  EXPECT_EQ(loader.next()->step, 4);
}

TEST(DataLoader, WorksAheadButNoFurtherThanItsRing) {
  const Failing data(-1);
  DataLoader loader(data, ShardedSampler({.size = 100, .global_batch = 1}), {.ring = 4});
  loader.start(0, 100);
  loader.next();
  while (data.reads < 4) std::this_thread::yield();
  EXPECT_EQ(data.reads, 4);
  loader.next();
  while (data.reads < 5) std::this_thread::yield();
  EXPECT_LE(data.reads, 5);
}

TEST(DataLoader, EndsWhileItIsBusy) {
  const InMemoryDataset data = numbers(1000);
  for (int round = 0; round < 100; ++round) {
    DataLoader loader(data, ShardedSampler({.size = 1000, .global_batch = 100}));
    loader.start(0, 1000);
    if (round % 2) loader.next();
  }
}

TEST(DataLoader, RejectsWhatDoesNotFit) {
  const InMemoryDataset data = numbers(5);
  EXPECT_THROW(DataLoader(data, ShardedSampler({.size = 6})), Error);
  EXPECT_THROW(DataLoader(data, ShardedSampler({.size = 5}), {.dtype = DType::u8}), Error);
  EXPECT_THROW(DataLoader(data, ShardedSampler({.size = 5}), {.ring = 1}), Error);
}

}  // namespace
}  // namespace ronde
