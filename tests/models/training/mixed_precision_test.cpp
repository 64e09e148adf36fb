// Models that compute in bf16 with everything that is kept in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

const ModelOptions kMixed{.compute_dtype = DType::bf16};

TEST(MixedPrecisionModel, LearnsAsInSinglePrecision) {
  const InMemoryDataset data = small_images(60);
  Model single = small_model(), mixed = small_model(kMixed);
  const FitOptions options{.batch_size = 6, .epochs = 8, .verbose = 0};
  const std::vector<double> expected = single.fit(data, options).values.at("loss"),
                            losses = mixed.fit(data, options).values.at("loss");
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch)
    EXPECT_NEAR(losses[epoch], expected[epoch], 0.02 * expected[epoch]) << "epoch " << epoch;
  EXPECT_NE(losses, expected);
}

TEST(MixedPrecisionModel, PredictsF32NearWhatSinglePrecisionDoes) {
  const InMemoryDataset data = small_images(9);
  const Tensor inputs = data.inputs().to(DType::f32);
  const Tensor single = small_model().predict(inputs), mixed = small_model(kMixed).predict(inputs);
  EXPECT_EQ(mixed.dtype(), DType::f32);
  const double difference = largest_difference(single, mixed);
  EXPECT_GT(difference, 0.0);
  EXPECT_LT(difference, 0.02);
}

TEST(MixedPrecisionModel, GradientsOfMicroBatchesAddUpInF32) {
  const InMemoryDataset data = small_images(64);
  const auto trained = [&](std::int64_t micro_batch) {
    Model model = small_model(kMixed);
    CompileOptions compile = small_compile();
    compile.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 1.0});
    model.compile(std::move(compile));
    model.fit(data, {.batch_size = 64, .micro_batch = micro_batch, .verbose = 0});
    return model;
  };
  Model whole = trained(0), parts = trained(1);
  // Gradients of up to 0.2: each bf16 among the 64 summands would be off by up to 1e-5.
  EXPECT_LT(largest_difference(whole.arena().values(), parts.arena().values()), 1e-6);
}

TEST(MixedPrecisionModel, FilesAreThoseOfAFloat32Model) {
  const TempDir dir(memory_directory());
  const std::string path = dir / "model.h5";
  Model mixed = small_model(kMixed);
  mixed.fit(small_images(12), {.batch_size = 6, .verbose = 0});
  mixed.save(path);
  EXPECT_EQ(Model::load(path).weights_sha256(), mixed.weights_sha256());
  EXPECT_EQ(Model::load(path, kMixed).weights_sha256(), mixed.weights_sha256());
  const Tensor inputs = small_images(5, 1).inputs().to(DType::f32);
  EXPECT_EQ(largest_difference(Model::load(path, kMixed).predict(inputs), mixed.predict(inputs)), 0.0);
}

}  // namespace
}  // namespace ronde::test
