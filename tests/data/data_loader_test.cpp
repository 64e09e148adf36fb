#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
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

using test::host;

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

class Threads : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of, Threads, ::testing::Values(1, 2, 3, 8));

TEST_P(Threads, FillTheSameBatches) {
  const InMemoryDataset data = numbers(157);
  for (const int ring : {2, 3, 7})
    for (const std::int64_t batch : {1, 3, 50, 157}) {
      DataLoader loader(data, ShardedSampler({.size = 157, .global_batch = batch, .repeat = true}),
                        {.ring = ring, .threads = GetParam()});
      loader.start(2, 30);
      for (std::int64_t step = 2; step < 32; ++step) expect_batch(loader.next(), loader.sampler(), step);
      EXPECT_EQ(loader.next(), nullptr);
    }
}

/// Adds a random number to each element.
class Jitter : public Augmentation {
 public:
  void apply(const Tensor& image, AugmentationRandom& random) const override {
    for (std::int64_t i = 0; i < image.count(); ++i)
      image.data<float>()[i] += static_cast<float>(random.uniform(0, 1));
  }
};

TEST_P(Threads, AugmentToTheSameBits) {
  const InMemoryDataset data = numbers(40);
  const Jitter jitter;
  const ShardedSampler sampler({.size = 40, .global_batch = 13, .seed = 4});
  DataLoader loader(data, sampler, {.augmentation = &jitter, .threads = GetParam()});
  loader.start(0, 8);
  while (const Batch* batch = loader.next()) {
    const std::vector<float> inputs = batch->inputs.to_vector<float>();
    std::size_t at = 0;
    for (const SampleKey& key : sampler.samples(batch->step)) {
      AugmentationRandom random(4, key);
      for (const double value : {0.0, 0.5})
        EXPECT_EQ(inputs.at(at++), static_cast<float>(static_cast<double>(key.sample) + value) +
                                       static_cast<float>(random.uniform(0, 1)));
    }
  }
}

TEST_P(Threads, StartAnewAtAnyTime) {
  const InMemoryDataset data = numbers(1000);
  DataLoader loader(data, ShardedSampler({.size = 1000, .global_batch = 10}),
                    {.ring = 2, .threads = GetParam()});
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

TEST_P(Threads, RethrowWhatTheDataSetThrewAfterTheBatchesBefore) {
  const Failing data(35);
  DataLoader loader(data, ShardedSampler({.size = 100, .global_batch = 10, .shuffle = false}),
                    {.threads = GetParam()});
  for (int round = 0; round < 2; ++round) {
    loader.start(0, 10);
    for (std::int64_t step = 0; step < 3; ++step) EXPECT_EQ(loader.next()->step, step);
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_THROW(loader.next(), std::runtime_error);
  }
  loader.start(4, 2);
  EXPECT_EQ(loader.next()->step, 4);
}

/// Every third sample cannot be read; the first ones take longest to say so.
class OftenFailing : public Dataset {
 public:
  std::int64_t size() const override { return 100; }
  Shape input_shape() const override { return {1}; }
  void read(std::span<const std::int64_t> samples, const Tensor&, const Tensor&) const override {
    for (const std::int64_t sample : samples) {
      if (sample < 10) std::this_thread::sleep_for(std::chrono::milliseconds(10 - sample));
      if (sample % 3 == 2) throw std::runtime_error("sample " + std::to_string(sample));
    }
  }
};

TEST_P(Threads, RethrowWhatTheFirstSampleThrew) {
  const OftenFailing data;
  DataLoader loader(data, ShardedSampler({.size = 100, .global_batch = 40, .shuffle = false}),
                    {.threads = GetParam()});
  loader.start(0, 2);
  test::expect_error<std::runtime_error>([&] { loader.next(); }, {"sample 2"});
}

/// Each read waits for another one to be under way.
class Meeting : public Failing {
 public:
  Meeting() : Failing(-1) {}
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override {
    Failing::read(samples, inputs, targets);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (reads < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  }
};

TEST(DataLoader, ReadsABatchWithSeveralThreads) {
  const Meeting data;
  DataLoader loader(data, ShardedSampler({.size = 100, .global_batch = 100}), {.threads = 2});
  loader.start(0, 1);
  loader.next();
  EXPECT_GE(data.reads, 2);
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

TEST_P(Threads, EndWhileTheyAreBusy) {
  const InMemoryDataset data = numbers(1000);
  for (int round = 0; round < 100; ++round) {
    DataLoader loader(data, ShardedSampler({.size = 1000, .global_batch = 100}), {.threads = GetParam()});
    loader.start(0, 1000);
    if (round % 2) loader.next();
  }
}

TEST(DataLoader, RejectsWhatDoesNotFit) {
  const InMemoryDataset data = numbers(5);
  EXPECT_THROW(DataLoader(data, ShardedSampler({.size = 6})), Error);
  EXPECT_THROW(DataLoader(data, ShardedSampler({.size = 5}), {.dtype = DType::u8}), Error);
  EXPECT_THROW(DataLoader(data, ShardedSampler({.size = 5}), {.ring = 1}), Error);
  EXPECT_THROW(DataLoader(data, ShardedSampler({.size = 5}), {.threads = 0}), Error);
}

}  // namespace
}  // namespace ronde
