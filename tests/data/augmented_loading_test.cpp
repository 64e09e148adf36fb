#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include <ronde/data/augmented_dataset.h>
#include <ronde/data/data_loader.h>
#include <ronde/data/in_memory_dataset.h>

#include "data/augmentation_testing.h"

namespace ronde {
namespace {

using namespace test;

InMemoryDataset pictures(std::int64_t size) {
  return {picture({size, 6, 5, 3}, DType::f32),
          host<std::int32_t>({size}, std::vector<std::int32_t>(static_cast<std::size_t>(size), 0))};
}

/// Every sample of the first steps, augmented by the loaders of `world_size` ranks.
std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> loaded(const Dataset& data,
                                                                            const Augmentation& augmentation,
                                                                            int world_size, DType dtype) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> seen;
  for (int rank = 0; rank < world_size; ++rank) {
    DataLoader loader(data,
                      ShardedSampler({.size = data.size(),
                                      .global_batch = 16,
                                      .rank = rank,
                                      .world_size = world_size,
                                      .passes = 2,
                                      .seed = 4}),
                      {.dtype = dtype, .augmentation = &augmentation});
    loader.start(0, loader.sampler().steps_per_epoch());
    while (const Batch* batch = loader.next())
      for (std::int64_t i = 0; i < batch->size(); ++i) {
        const auto key = batch->sample_keys.slice(0, i, i + 1).to_vector<std::int64_t>();
        seen[{key[0], key[1]}] = batch->inputs.slice(0, i, i + 1).to_vector<double>();
      }
  }
  return seen;
}

TEST(LoaderAugmentation, IsTheSameOnAnyNumberOfRanks) {
  const InMemoryDataset data = pictures(37);
  const Augment augment = everything();
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto alone = loaded(data, augment, 1, dtype);
    ASSERT_EQ(alone.size(), 74u);
    EXPECT_EQ(loaded(data, augment, 2, dtype), alone);
    EXPECT_EQ(loaded(data, augment, 5, dtype), alone);
    for (const auto& [key, values] : alone) {
      const Tensor image = test::read_samples(data, {key.first}, dtype).first.reshape({6, 5, 3});
      EXPECT_EQ(augmented(augment, image, {key.first, key.second}, 4).to_vector<double>(), values);
    }
  }
}

TEST(LoaderAugmentation, RunsOnManyThreadsAtOnce) {
  const InMemoryDataset data = pictures(37);
  const Augment augment = everything();
  const auto alone = loaded(data, augment, 1, DType::f32);
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] { equal += loaded(data, augment, 1, DType::f32) == alone; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 3);
}

TEST(AugmentedDataset, GivesASampleTheSamePictureAlways) {
  const InMemoryDataset data = pictures(5);
  const Augment augment = everything();
  const AugmentedDataset changed(data, augment, 3);
  EXPECT_EQ(changed.input_shape(), data.input_shape());
  EXPECT_EQ(changed.size(), 5);
  const Tensor all = test::read_samples(changed, {0, 1, 2, 3, 4}).first;
  for (std::int64_t s = 0; s < 5; ++s) {
    const auto one = test::read_samples(changed, {s}).first.to_vector<float>();
    EXPECT_EQ(all.slice(0, s, s + 1).to_vector<float>(), one);
    const Tensor image = test::read_samples(data, {s}).first.reshape({6, 5, 3});
    EXPECT_EQ(augmented(augment, image, {.sample = s}, 3).to_vector<float>(), one);
  }
}

}  // namespace
}  // namespace ronde
