#include <set>

#include <ronde/core/philox.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/sequential.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

Tensor keys(const std::vector<std::int64_t>& pairs) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(pairs.size()) / 2, 2}, pairs, &backend("cpu"));
}

Tensor ones(const Shape& shape) {
  return Tensor::full(shape, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
}

/// Row of the mask of a layer at `path`, scaled.
std::vector<double> expected_row(std::uint64_t seed, const std::string& path, std::uint64_t sample,
                                 std::uint64_t epoch, std::int64_t count, double rate) {
  std::vector<double> row;
  for (std::int64_t e = 0; e < count; ++e) {
    const Philox4 words =
        sample_bits(random_key(seed, hash_name(path)), sample, epoch, static_cast<std::uint64_t>(e) / 4);
    const bool kept = uniform_float(words[static_cast<std::size_t>(e % 4)]) >= static_cast<float>(rate);
    row.push_back(kept ? 1.0 / (1.0 - rate) : 0.0);
  }
  return row;
}

TEST(Dropout, MaskIsAFunctionOfSeedPathSampleAndEpoch) {
  Sequential net(Dropout(0.25), Dropout(0.5));
  net.build({3, 7}, in_f64());
  Module& second = *net.layers()[1];
  const Tensor y =
      second(ones({2, 3, 7}), {.training = true, .seed = 9, .sample_keys = keys({41, 3, 7, 2})}).value();
  std::vector<double> expected = expected_row(9, "dropout_1", 41, 3, 21, 0.5);
  const std::vector<double> other = expected_row(9, "dropout_1", 7, 2, 21, 0.5);
  expected.insert(expected.end(), other.begin(), other.end());
  EXPECT_EQ(y.to_vector<double>(), expected);
}

TEST(Dropout, GradientGoesThroughTheSameMask) {
  Dropout layer(0.4);
  expect_module_gradients(layer, random_tensor({3, 10}),
                          {.training = true, .seed = 4, .sample_keys = keys({0, 0, 1, 0, 2, 0})});
}

TEST(Dropout, DropsTheRightShare) {
  Dropout layer(0.3);
  const Tensor y =
      layer(ones({4, 5000}), {.training = true, .sample_keys = keys({0, 0, 1, 0, 2, 0, 3, 0})}).value();
  double sum = 0;
  for (const double value : y.to_vector<double>()) sum += value;
  EXPECT_NEAR(sum / 20000, 1.0, 0.02);  // 4.3 standard deviations
}

TEST(Dropout, IsTheIdentityOutsideTraining) {
  Dropout layer(0.5), none(0.0);
  const Tensor x = random_tensor({3, 4});
  EXPECT_EQ(layer(x).value().to_vector<double>(), x.to_vector<double>());
  EXPECT_EQ(none(x, {.training = true}).value().to_vector<double>(), x.to_vector<double>());
}

TEST(Dropout, DropsWhatHasOneDrawTogether) {
  const Context context{.training = true, .seed = 9, .sample_keys = keys({41, 3, 7, 2})};
  const auto masks = [&](const Shape& noise_shape) {
    Sequential net{Dropout(0.5, noise_shape)};
    net.build({2, 2, 3}, in_f64());
    return net(ones({2, 2, 2, 3}), context).value();
  };
  const auto draws = [](std::uint64_t sample, std::uint64_t epoch, std::int64_t count) {
    const std::vector<double> row = expected_row(9, "dropout", sample, epoch, count, 0.5);
    return f64_tensor({1, 1, 1, count}, row).broadcast_to({1, 2, 2, count}).to_vector<double>();
  };
  std::vector<double> channels = draws(41, 3, 3);
  for (const double value : draws(7, 2, 3)) channels.push_back(value);
  EXPECT_EQ(masks({1, 1, -1}).to_vector<double>(), channels);
  EXPECT_EQ(masks({1, 1, 3}).to_vector<double>(), channels);
  EXPECT_EQ(masks({-1, -1, -1}).to_vector<double>(), masks({}).to_vector<double>());
  const std::vector<double> whole = masks({1, 1, 1}).to_vector<double>();
  EXPECT_EQ(std::set<double>(whole.begin(), whole.begin() + 12).size(), 1u);
  EXPECT_EQ(whole.front(), draws(41, 3, 1).front());
  EXPECT_EQ(whole.back(), draws(7, 2, 1).front());
  Dropout layer(0.5, {1, 1, -1});
  expect_module_gradients(layer, random_tensor({2, 2, 2, 3}), context);
  EXPECT_EQ(message_of([&] {
              layer(ones({2, 3}), context);
            }),
            "[dropout] has a noise_shape (1, 1, -1), which is not one for inputs of shape (2, 3)");
}

TEST(Dropout, OneForAllElementsIsNotTakenForOneOfEach) {
  Sequential net(Dense({.units = 8, .activation = Activation::relu}), Dropout(0.5, {1}));
  net.build({4}, in_f64());
  const Context context{.training = true, .sample_keys = keys({0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0})};
  const Tensor x = random_tensor({6, 4});
  Variable expected = x;
  for (Module* layer : net.layers()) expected = (*layer)(expected, context);
  EXPECT_EQ(net(x, context).value().to_vector<double>(), expected.value().to_vector<double>());
}

TEST(Dropout, WithoutKeysRowsAndCallsDiffer) {
  Dropout layer(0.5);
  std::set<std::vector<double>> rows;
  for (int call = 0; call < 3; ++call) {
    const std::vector<double> y = layer(ones({2, 40}), {.training = true}).value().to_vector<double>();
    rows.emplace(y.begin(), y.begin() + 40);
    rows.emplace(y.begin() + 40, y.end());
  }
  EXPECT_EQ(rows.size(), 6u);
}

TEST(Dropout, RefusesSenselessRatesAndKeys) {
  EXPECT_THROW(Dropout(1.0), UsageError);
  EXPECT_THROW(Dropout(-0.1), UsageError);
  Dropout layer(0.5);
  EXPECT_EQ(message_of([&] {
              layer(ones({3, 2}), {.training = true, .sample_keys = keys({0, 0})});
            }),
            "[dropout] expects sample keys of shape (3, 2), got (1, 2). The first axis of (3, 2) must be the "
            "samples of the batch, which have a key each: a net that flattens more axes into it has to bring "
            "its samples back to the front");
}

}  // namespace
}  // namespace ronde::test
