#include <gtest/gtest.h>

#include <vector>

#include <ronde/data/sampler.h>

#include "models/testing.h"

namespace ronde::test {
namespace {

/// small_images() that lie in blocks; notes what is read.
class Blocks : public Dataset {
 public:
  std::int64_t size() const override { return images_.size(); }
  Shape input_shape() const override { return images_.input_shape(); }
  std::int64_t block_size() const override { return 4; }
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override {
    order.insert(order.end(), samples.begin(), samples.end());
    images_.read(samples, inputs, targets);
  }
  mutable std::vector<std::int64_t> order;  // one loader thread writes it

 private:
  InMemoryDataset images_ = small_images(200);
};

TEST(Fit, ShufflesByTheBlocksOfTheData) {
  const Blocks data;
  Model model = small_model({.seed = 5});
  model.fit(data, {.batch_size = 50, .verbose = 0});
  std::vector<std::int64_t> expected;
  const ShardedSampler sampler({.size = 200, .global_batch = 50, .seed = 5, .shuffle_block = 4});
  for (std::int64_t step = 0; step < 4; ++step)
    for (const SampleKey& key : sampler.samples(step)) expected.push_back(key.sample);
  EXPECT_EQ(data.order, expected);
}

TEST(Fit, LearnsTheSameWithAnyNumberOfLoaderThreads) {
  const InMemoryDataset data = small_images(60);
  Model one = small_model(), three = small_model();
  one.fit(data, {.batch_size = 16, .epochs = 2, .verbose = 0});
  three.fit(data, {.batch_size = 16, .epochs = 2, .loader_threads = 3, .verbose = 0});
  EXPECT_EQ(one.weights_sha256(), three.weights_sha256());
  EXPECT_THROW(one.fit(data, {.loader_threads = 0, .verbose = 0}), Error);
}

}  // namespace
}  // namespace ronde::test
