// `fit`, checkpoints and resumed runs with each way in which ranks can train together.
#include <gtest/gtest.h>

#include <mutex>

#include <ronde/models/model_checkpoint.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using test::run_ranks;

const BucketOptions kBuckets{.first_bucket_bytes = 128, .bucket_bytes = 2048};

Model make_model(Communicator& world, const DistributedOptions& options) {
  Model model(small_net(), {6, 6, 1}, {.communicator = &world, .seed = 3, .backend = &backend("cpu")});
  model.compile({.optimizer = std::make_unique<Adam>(),
                 .loss = std::make_unique<CategoricalCrossentropy>(),
                 .distributed = options});
  return model;
}

FitOptions fit_options(std::int64_t epochs = 2) {
  FitOptions fit;
  fit.global_batch_size = 5;  // of 14 samples: the last batch is smaller, and ranks get unequal shares
  fit.epochs = epochs;
  fit.verbose = 0;
  fit.warn = [](const std::string& warning) { ADD_FAILURE() << warning; };
  return fit;
}

struct Way {
  const char* name;
  DistributedOptions options;
};

std::vector<Way> ways() {
  return {{"bf16", {.buckets = kBuckets, .compression = compression::Bf16{}}},
          {"fp16", {.buckets = kBuckets, .compression = compression::Fp16{}}},
          {"top-k", {.buckets = kBuckets, .compression = compression::TopK{0.1}}},
          {"power-sgd", {.buckets = kBuckets, .compression = compression::PowerSgd{1, 2}}},
          {"adasum", {.buckets = kBuckets, .combine = Combine::adasum}},
          {"local steps", {.buckets = kBuckets, .local_steps = {.period = 4, .start_step = 1}}},
          {"sharded", {.buckets = kBuckets, .state = StateLayout::sharded}}};
}

// Weights, evaluation and logs are those of all ranks, whatever travelled.
TEST(DistributedOptions, RanksAgreeAfterAFit) {
  const InMemoryDataset data = small_images(14);
  for (const Way& way : ways()) {
    for (const int ranks : {1, 2, 3}) {
      std::mutex lock;
      std::vector<std::string> weights;
      std::vector<double> losses;
      run_ranks(ranks, [&](Communicator& world) {
        Model model = make_model(world, way.options);
        FitOptions fit = fit_options();
        fit.max_steps = 5;  // ends within an epoch
        fit.validation = &data;
        model.fit(data, fit);
        const Evaluation evaluation = model.evaluate(data, 4);
        const std::lock_guard guard(lock);
        weights.push_back(model.weights_sha256());
        losses.push_back(evaluation.loss_sum);
      });
      for (std::size_t r = 1; r < weights.size(); ++r) {
        EXPECT_EQ(weights[r], weights[0]) << way.name;
        EXPECT_EQ(losses[r], losses[0]) << way.name;
      }
    }
  }
}

// One rank has nobody to send to: all ways are the same there.
TEST(DistributedOptions, OneRankTrainsAsEver) {
  const InMemoryDataset data = small_images(14);
  std::string expected;
  run_ranks(1, [&](Communicator& world) {
    Model plain = make_model(world, {});
    plain.fit(data, fit_options());
    for (const Way& way : ways()) {
      Model model = make_model(world, way.options);
      model.fit(data, fit_options());
      EXPECT_EQ(model.weights_sha256(), plain.weights_sha256()) << way.name;
    }
  });
}

/// Trains for some epochs, from a file if one is given, and saves; the weights' hash.
std::string train_and_save(int ranks, const DistributedOptions& options, const std::string& from,
                           const std::string& to, std::int64_t epochs,
                           std::vector<std::string>* warnings = nullptr) {
  const InMemoryDataset data = small_images(14);
  std::string hash;
  run_ranks(ranks, [&](Communicator& world) {
    Model model = make_model(world, options);
    FitOptions fit = fit_options(epochs);
    if (warnings) fit.warn = [&](const std::string& warning) { warnings->push_back(warning); };
    if (!from.empty()) {
      model.load_weights(from);
      fit.resume = true;
    }
    model.fit(data, fit);
    model.save(to);
    if (world.rank() == 0) hash = model.weights_sha256();
  });
  return hash;
}

TEST(ShardedState, FilesAndResumedRunsAreThoseOfWholeState) {
  const TempDir dir;
  const DistributedOptions whole{.buckets = kBuckets},
      sharded{.buckets = kBuckets, .state = StateLayout::sharded};
  const std::string a = dir / "a.h5", b = dir / "b.h5", c = dir / "c.h5", d = dir / "d.h5";
  EXPECT_EQ(train_and_save(3, sharded, "", b, 2), train_and_save(3, whole, "", a, 2));
  const SavedModel saved_whole = read_saved_model(a), saved_sharded = read_saved_model(b);
  ASSERT_TRUE(saved_whole.state && saved_sharded.state);
  const auto& slots = saved_whole.state->optimizer->slots;
  const auto& others = saved_sharded.state->optimizer->slots;
  ASSERT_EQ(slots.size(), others.size());
  for (std::size_t s = 0; s < slots.size(); ++s)
    for (std::size_t w = 0; w < slots[s].weights.size(); ++w)
      EXPECT_EQ(slots[s].weights[w].values.to_vector<float>(),
                others[s].weights[w].values.to_vector<float>());
  // From the file of two epochs to a third, by whichever layout: the same bits.
  const std::string third = train_and_save(3, whole, "", c, 3);
  EXPECT_EQ(train_and_save(3, sharded, b, d, 3), third);
  EXPECT_EQ(train_and_save(3, sharded, a, d, 3), third);
  EXPECT_EQ(train_and_save(3, whole, b, d, 3), third);
}

TEST(ShardedState, ResumesOnAnotherNumberOfRanks) {
  const TempDir dir;
  const DistributedOptions sharded{.buckets = kBuckets, .state = StateLayout::sharded};
  train_and_save(3, sharded, "", dir / "a.h5", 2);
  std::vector<std::string> warnings;
  const std::string two = train_and_save(2, sharded, dir / "a.h5", dir / "b.h5", 3, &warnings);
  EXPECT_EQ(two, train_and_save(2, {.buckets = kBuckets}, dir / "a.h5", dir / "b.h5", 3, &warnings));
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings[0].find("ranks 2 instead of 3"), std::string::npos) << warnings[0];
}

// What ranks have not sent yet is theirs; a file of rank 0 cannot hold it.
TEST(DistributedOptions, AResumeThatIsNotExactSaysSo) {
  const TempDir dir;
  const DistributedOptions top_k{.buckets = kBuckets, .compression = compression::TopK{0.1}};
  train_and_save(2, top_k, "", dir / "a.h5", 1);
  std::vector<std::string> warnings;
  train_and_save(2, top_k, dir / "a.h5", dir / "b.h5", 2, &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("top-k(0.1)"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("not bit for bit"), std::string::npos) << warnings[0];
}

TEST(LocalSteps, ResumeIsExact) {
  const TempDir dir;
  const DistributedOptions local{.buckets = kBuckets, .local_steps = {.period = 2, .start_step = 1}};
  train_and_save(3, local, "", dir / "a.h5", 1);
  const std::string resumed = train_and_save(3, local, dir / "a.h5", dir / "b.h5", 3);
  EXPECT_EQ(train_and_save(3, local, "", dir / "c.h5", 3), resumed);
}

// The way of training belongs to the run.
TEST(DistributedOptions, AResumeInAnotherWayIsAnError) {
  const TempDir dir;
  train_and_save(2, {.buckets = kBuckets}, "", dir / "a.h5", 1);
  const DistributedOptions adasum{.buckets = kBuckets, .combine = Combine::adasum};
  try {
    train_and_save(2, adasum, dir / "a.h5", dir / "b.h5", 2);
    ADD_FAILURE() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("exchange of gradients average, this one has adasum"),
              std::string::npos)
        << error.what();
  }
}

TEST(DistributedOptions, DeterministicModeExcludesThem) {
  const InMemoryDataset data = small_images(14);
  for (const Way& way : ways()) {
    run_ranks(2, [&](Communicator& world) {
      Model model = make_model(world, way.options);
      FitOptions fit = fit_options();
      fit.deterministic = true;
      EXPECT_THROW(model.fit(data, fit), UsageError) << way.name;
    });
  }
}

}  // namespace
}  // namespace ronde::test
