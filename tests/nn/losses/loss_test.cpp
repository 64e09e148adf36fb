#include <cmath>
#include <limits>

#include <ronde/core/ops.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/regression_loss.h>

#include "losses/loss_factory.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

const std::vector<std::int32_t> kLabels{2, 0, 1};

Tensor logits() {
  return random_tensor({3, 4}, 5, -2.0, 2.0);
}

/// -sum(target * log softmax(logits)) of each row.
std::vector<double> reference(const Tensor& x, const std::vector<double>& target) {
  const std::vector<double> z = x.to_vector<double>();
  const auto k = static_cast<std::size_t>(x.size(1));
  std::vector<double> losses;
  for (std::size_t row = 0; row < z.size() / k; ++row) {
    double sum = 0, loss = 0;
    for (std::size_t j = 0; j < k; ++j) sum += std::exp(z[row * k + j]);
    for (std::size_t j = 0; j < k; ++j) loss -= target[row * k + j] * (z[row * k + j] - std::log(sum));
    losses.push_back(loss);
  }
  return losses;
}

std::vector<double> one_hot(double smoothing = 0.0) {
  std::vector<double> rows(12, smoothing / 4);
  for (std::size_t i = 0; i < 3; ++i) rows[i * 4 + static_cast<std::size_t>(kLabels[i])] += 1 - smoothing;
  return rows;
}

/// Loss and gradient with respect to the logits, whichever way the outputs are made of them.
void check(const Loss& loss, const Tensor& target, const std::vector<double>& expected, bool softmaxed) {
  const Function f = [&](const Variables& v) { return loss(softmaxed ? softmax(v[0]) : v[0], target); };
  expect_close(f({logits()}).value(), expected, 1e-12, "losses");
  expect_gradients(f, {logits()});
}

TEST(CategoricalCrossentropy, TakesLabelsOrDistributionsOfLogitsOrProbabilities) {
  for (const double smoothing : {0.0, 0.1})
    for (const bool from_logits : {true, false}) {
      SCOPED_TRACE(cat("smoothing ", smoothing, ", from_logits ", from_logits));
      const CrossentropyOptions options{.from_logits = from_logits, .label_smoothing = smoothing};
      const std::vector<double> expected = reference(logits(), one_hot(smoothing));
      check(CategoricalCrossentropy(options), i32_tensor(kLabels), expected, !from_logits);
      check(CategoricalCrossentropy(options), f64_tensor({3, 4}, one_hot()), expected, !from_logits);
      check(SparseCategoricalCrossentropy(options), i32_tensor(kLabels), expected, !from_logits);
    }
}

TEST(CategoricalCrossentropy, NormalisesAndClipsProbabilitiesOfUnknownOrigin) {
  const Tensor p = f64_tensor({3, 4}, {0.2, 0.2, 0.4, 0.2,  //
                                       0, 0.5, 0.25, 0.25,  //
                                       1, 2, 4, 1});
  const std::vector<double> expected{-std::log(0.4), -std::log(1e-7), -std::log(0.25)};
  const CategoricalCrossentropy loss;
  expect_close(loss(p, i32_tensor(kLabels)).value(), expected, 1e-12, "labels");
  expect_close(loss(p, f64_tensor({3, 4}, one_hot())).value(), expected, 1e-12, "one-hot");
  expect_gradients([&](const Variables& v) { return loss(v[0], i32_tensor(kLabels)); },
                   {random_tensor({3, 4}, 1, 0.1, 1.0)});
}

// Keras 3.15: [0.6931472, 1.0986123, 1.0986123]. Row by row: what is clipped gets no gradient.
TEST(SparseCategoricalCrossentropy, ClipsProbabilitiesOfUnknownOriginBeforeItDividesThem) {
  const Tensor p = f64_tensor({3, 3}, {2, 0.5, 0.5, 0, 0, 0, -1, 3, 0.5});
  const SparseCategoricalCrossentropy loss;
  const double third = 1 - 1e-7 + 0.5 + 1e-7;
  expect_close(loss(p, i32_tensor({0, 1, 2})).value(),
               {std::log(2 - 1e-7) - std::log(1 - 1e-7), std::log(3.0), std::log(third) - std::log(0.5)},
               1e-12, "labels");
  const Variable x = Variable::parameter(p);
  sum(loss(x, i32_tensor({0, 1, 2}))).backward();
  const double first = 1 / (2 - 1e-7);
  expect_close(x.grad(), {0, first, first, 0, 0, 0, 0, 0, 1 / third - 2}, 1e-12, "gradient");
  expect_gradients([&](const Variables& v) { return loss(v[0], i32_tensor(kLabels)); },
                   {random_tensor({3, 4}, 1, 0.1, 0.9)});
}

TEST(CategoricalCrossentropy, SaturatedSoftmaxIsNotClipped) {
  const Tensor x = f64_tensor({1, 2}, {0, 60});
  const CategoricalCrossentropy loss;
  EXPECT_NEAR(loss(softmax(x), i32_tensor({0})).item(), 60.0, 1e-9);
}

TEST(CategoricalCrossentropy, RefusesWrongTargets) {
  const CategoricalCrossentropy loss;
  EXPECT_EQ(message_of([&] {
              loss(logits(), i32_tensor({2, 4, 1}));
            }),
            "[categorical_crossentropy] label 4 of row 1 is not in [0, 4)");
  EXPECT_EQ(message_of([&] {
              loss(logits(), i32_tensor({2, 1, -1}));
            }),
            "[categorical_crossentropy] label -1 of row 2 is not in [0, 4)");
  EXPECT_THROW(loss(logits(), i32_tensor({2, 1})), Error);
  EXPECT_THROW(loss(logits(), random_tensor({3, 5})), Error);
  EXPECT_THROW(loss(random_tensor({3}), i32_tensor(kLabels)), Error);
  EXPECT_THROW(SparseCategoricalCrossentropy()(logits(), random_tensor({3, 4})), Error);
}

TEST(BinaryCrossentropy, MatchesItsFormula) {
  const Tensor x = random_tensor({3, 4}, 5, -3.0, 3.0), t = random_tensor({3, 4}, 6, 0.0, 1.0);
  const std::vector<double> z = x.to_vector<double>(), target = t.to_vector<double>();
  std::vector<double> expected(3, 0.0);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double p = 1 / (1 + std::exp(-z[i]));
    expected[i / 4] -= (target[i] * std::log(p) + (1 - target[i]) * std::log(1 - p)) / 4;
  }
  const BinaryCrossentropy of_logits({.from_logits = true}), of_probabilities;
  expect_close(of_logits(x, t).value(), expected, 1e-12, "logits");
  expect_close(of_probabilities(sigmoid(x), t).value(), expected, 1e-12, "probabilities");
  expect_gradients([&](const Variables& v) { return of_logits(v[0], t); }, {x});
  EXPECT_NEAR(of_logits(f64_tensor({1, 1}, {-800}), f64_tensor({1, 1}, {1})).item(), 800, 1e-9);
  EXPECT_EQ(of_logits(x.reshape({12}), t.reshape({12})).shape(), (Shape{12}));
}

// Of a net whose last kernel is zeros, all logits are 0.
TEST(BinaryCrossentropy, HasItsGradientWhereALogitIsZero) {
  const BinaryCrossentropy of_logits({.from_logits = true});
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Variable x =
        Variable::parameter(Tensor::zeros({3, 1}, {.dtype = dtype, .backend = &backend("cpu")}));
    sum(of_logits(x, f64_tensor({3, 1}, {0, 1, 0.25}))).backward();
    EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0.5, -0.5, 0.25})) << to_string(dtype);
  }
}

TEST(BinaryCrossentropy, OfLargeLogitsLosesNothing) {
  const std::vector<double> logits{100, -100, 1e4, -1e4, 10, -10, 20, -20, 100, -1e4};
  const std::vector<double> targets{1, 1, 1, 1, 1, 0, 1, 0, 0.25, 0.25};
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Variable x = Variable::parameter(f64_tensor({10, 1}, logits).to(dtype));
    const std::vector<double> z = x.value().to_vector<double>();
    const Variable losses = BinaryCrossentropy({.from_logits = true})(x, f64_tensor({10, 1}, targets));
    sum(losses).backward();
    const std::vector<double> found = losses.value().to_vector<double>(), grad = x.grad().to_vector<double>();
    const auto near = [](double value, double bits) { return std::abs(value) * bits + 1e-40; };
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double spread = std::log1p(std::exp(-std::abs(z[i])));
      const double loss = targets[i] * std::max(-z[i], 0.0) + (1 - targets[i]) * std::max(z[i], 0.0) + spread;
      EXPECT_NEAR(found[i], loss, near(loss, 1e-6)) << to_string(dtype) << " of " << z[i];
      const double up = 1 / (1 + std::exp(-z[i])), down = 1 / (1 + std::exp(z[i]));
      const double slope = (1 - targets[i]) * up - targets[i] * down;
      EXPECT_NEAR(grad[i], slope, near(slope, dtype == DType::bf16 ? 0x1p-8 : 1e-6))
          << to_string(dtype) << " of " << z[i];
    }
  }
}

// The logits behind a sigmoid are known, so nothing is clipped: -log(sigmoid(-40)) is 40, and not -log(1e-7).
TEST(BinaryCrossentropy, SaturatedSigmoidIsNotClipped) {
  const Variable outputs = sigmoid(Variable(f64_tensor({2, 1}, {40, -40})));
  expect_close(BinaryCrossentropy()(outputs, f64_tensor({2, 1}, {0, 1})).value(), {40, 40}, 1e-12, "losses");
}

// Keras' bound of 1e-7, without which these would be 0 * infinity, x / 0 and the logarithm of nothing.
TEST(Loss, OfNumbersAtTheEndOfTheirRangeIsFinite) {
  const auto losses = [](const Loss& loss, std::vector<double> output, std::vector<double> target) {
    return loss(Variable(f64_tensor({1, 2}, output)), f64_tensor({1, 2}, target)).value();
  };
  expect_close(losses(KLDivergence(), {0.5, 0.5}, {1, 0}), {std::log(2) + 1e-7 * std::log(2e-7)}, 1e-12,
               "KL");
  expect_close(losses(KLDivergence(), {0, 1}, {0.5, 0.5}), {0.5 * std::log(0.5e7) + 0.5 * std::log(0.5)},
               1e-12, "KL");
  expect_close(losses(MeanSquaredLogarithmicError(), {-3, 1}, {1, -3}),
               {std::pow(std::log1p(1e-7) - std::log(2), 2)}, 1e-12, "MSLE");
  expect_close(losses(MeanAbsolutePercentageError(), {3, 1}, {0, 1}), {100 * 3e7 / 2}, 1e-3, "MAPE");
  expect_close(losses(Poisson(), {0, 1}, {2, 0}), {(0 - 2 * std::log(1e-7) + 1) / 2}, 1e-12, "Poisson");
  expect_close(losses(CosineSimilarity(), {0, 0}, {1, 2}), {0}, 1e-12, "cosine");
}

TEST(MeanSquaredError, IsTheMeanOverASample) {
  const Tensor x = f64_tensor({2, 1, 2}, {1, 2, 3, 4}), t = f64_tensor({2, 1, 2}, {1, 4, 0, 0});
  const MeanSquaredError loss;
  expect_close(loss(x, t).value(), {2.0, 12.5}, 1e-14, "losses");
  expect_gradients([&](const Variables& v) { return loss(v[0], t); }, {x});
  EXPECT_THROW(loss(x, random_tensor({2, 2})), Error);
}

// Against the rows one by one.
TEST(CategoricalCrossentropy, OfPositionsIsTheirMean) {
  const Tensor x = random_tensor({2, 3, 2, 4}, 9, -2.0, 2.0);
  const Tensor labels = i32_tensor({0, 1, 2, 3, 3, 2, 1, 0, 2, 2, 1, 3});
  for (const double smoothing : {0.0, 0.1})
    for (const bool from_logits : {true, false}) {
      const CrossentropyOptions options{.from_logits = from_logits, .label_smoothing = smoothing};
      const SparseCategoricalCrossentropy sparse(options);
      const CategoricalCrossentropy soft(options);
      const auto outputs = [&](const Variable& v) { return from_logits ? v : softmax(v); };
      const std::vector<double> rows =
          sparse(outputs(x.reshape({12, 4})), labels).value().to_vector<double>();
      std::vector<double> one_hot_rows(12 * 4), expected(2);
      for (std::size_t i = 0; i < 12; ++i) {
        expected[i / 6] += rows[i] / 6;
        one_hot_rows[i * 4 + static_cast<std::size_t>(labels.to_vector<std::int32_t>()[i])] = 1.0;
      }
      const Tensor distributions = f64_tensor({2, 3, 2, 4}, one_hot_rows);
      for (const Shape& shape : {Shape{2, 3, 2}, Shape{2, 3, 2, 1}}) {
        expect_close(sparse(outputs(x), labels.reshape(shape)).value(), expected, 1e-12, "labels");
        expect_close(soft(outputs(x), labels.reshape(shape)).value(), expected, 1e-12,
                     "labels of another loss");
      }
      expect_close(soft(outputs(x), distributions).value(), expected, 1e-12, "one-hot");
      expect_gradients(
          [&](const Variables& v) {
            return sparse(outputs(v[0]), labels.reshape({2, 3, 2}));
          },
          {x});
      expect_gradients([&](const Variables& v) { return soft(outputs(v[0]), distributions); }, {x});
    }
  const Tensor p = random_tensor({2, 3, 2, 4}, 9, 0.1, 1.0);
  expect_gradients(
      [&](const Variables& v) {
        return SparseCategoricalCrossentropy()(v[0], labels.reshape({2, 3, 2}));
      },
      {p});
}

TEST(Loss, AnEmptyBatchHasNoLosses) {
  const Tensor none = Tensor::empty({0, 4}, {.dtype = DType::f64, .backend = &backend("cpu")});
  EXPECT_EQ(CategoricalCrossentropy()(softmax(none), i32_tensor({})).shape(), (Shape{0}));
  const Tensor no_images = Tensor::empty({0, 2, 2, 4}, {.dtype = DType::f64, .backend = &backend("cpu")});
  const Tensor no_labels = i32_tensor({}).reshape({0, 2, 2});
  EXPECT_EQ(SparseCategoricalCrossentropy()(softmax(no_images), no_labels).shape(), (Shape{0}));
}

TEST(Loss, RefusesOtherNumbersOfTargetsThanOfOutputs) {
  for (const char* name :
       {"categorical_crossentropy", "binary_crossentropy", "kl_divergence", "mean_squared_error",
        "mean_absolute_error", "mean_absolute_percentage_error", "huber", "log_cosh", "poisson",
        "mean_squared_logarithmic_error", "cosine_similarity"})
    for (const auto& [outputs, targets] : {std::pair{4, 3}, {4, 5}, {0, 1}, {4, 0}}) {
      const Shape wide{outputs, 3}, other{targets, 3};
      const Tensor output = Tensor::full(wide, 0.5, {.dtype = DType::f64});
      const std::string message =
          message_of([&] { (*make_loss(name))(output, Tensor::zeros(other, output.options())); });
      EXPECT_NE(message.find(cat(wide)), std::string::npos) << name << ": " << message;
      EXPECT_NE(message.find(cat(other)), std::string::npos) << name << ": " << message;
    }
  EXPECT_EQ(message_of([&] {
              SparseCategoricalCrossentropy()(logits(), i32_tensor({1, 2}));
            }),
            "[sparse_categorical_crossentropy] expects labels of shape (3,), got (2,)");
}

TEST(Loss, GradientsOfThoseForNumbers) {
  const Tensor t = random_tensor({4, 3}, 6, 0.1, 1.0);
  for (const char* name :
       {"mean_absolute_error", "mean_absolute_percentage_error", "huber", "log_cosh", "poisson",
        "mean_squared_logarithmic_error", "cosine_similarity", "kl_divergence"}) {
    SCOPED_TRACE(name);
    const std::unique_ptr<Loss> loss = make_loss(name);
    expect_gradients([&](const Variables& v) { return (*loss)(v[0], t); },
                     {random_tensor({4, 3}, 5, 1.2, 3.0)});
  }
  const Huber narrow({.delta = 0.25});
  expect_gradients([&](const Variables& v) { return narrow(v[0], t); },
                   {random_tensor({4, 3}, 5, -3.0, 3.0)});
}

TEST(Loss, IsMadeByName) {
  for (const char* name : {"categorical_crossentropy", "sparse_categorical_crossentropy",
                           "binary_crossentropy", "mean_squared_error", "mean_absolute_error",
                           "mean_absolute_percentage_error", "mean_squared_logarithmic_error", "huber",
                           "log_cosh", "poisson", "cosine_similarity", "kl_divergence"})
    EXPECT_EQ(make_loss(name)->name(), name);
  EXPECT_EQ(make_loss("mse")->name(), "mean_squared_error");
  const std::string known =
      "nown are categorical_crossentropy, sparse_categorical_crossentropy, binary_crossentropy, "
      "mean_squared_error, mean_absolute_error, mean_absolute_percentage_error, "
      "mean_squared_logarithmic_error, "
      "huber, log_cosh, poisson, cosine_similarity, kl_divergence";
  EXPECT_EQ(message_of([] { make_loss("contrastive"); }), "loss \"contrastive\" is not supported; k" + known);
  EXPECT_EQ(message_of([] { make_loss("MeanSquareError"); }),
            "loss \"MeanSquareError\" is not supported, did you mean MeanSquaredError? K" + known);
}

TEST(Loss, IsMadeOfOptionsThatItKnows) {
  const ConfigDict keras{{"name", "huber"}, {"delta", 0.5}, {"reduction", "sum_over_batch_size"}};
  EXPECT_EQ(make_loss("Huber", keras)->config().at(0).second.as_double(), 0.5);
  EXPECT_EQ(message_of([] {
              make_loss("mse", ConfigDict{{"reduction", "sum"}});
            }),
            "loss \"mse\": reduction \"sum\" is not supported, only the mean over the batch");
  EXPECT_EQ(message_of([] {
              make_loss("mse", ConfigDict{{"reduction", ConfigValue()}});
            }),
            "loss \"mse\": reduction \"none\" is not supported, only the mean over the batch");
  // Keras writes null for what was not asked for.
  const ConfigDict nothing{
      {"from_logits", ConfigValue()}, {"axis", ConfigValue()}, {"ignore_class", ConfigValue()}};
  EXPECT_EQ(make_loss("SparseCategoricalCrossentropy", nothing)->name(), "sparse_categorical_crossentropy");
  EXPECT_THROW(make_loss("cosine_similarity", ConfigDict{{"axis", 1}}), InputError);
  EXPECT_THROW(make_loss("SparseCategoricalCrossentropy", ConfigDict{{"ignore_class", 0}}), InputError);
  EXPECT_THROW(Huber({.delta = 0.0}), UsageError);
  EXPECT_THROW(Huber({.delta = std::numeric_limits<double>::infinity()}), UsageError);
}

TEST(Loss, OptionsOutOfRangeAreRefused) {
  for (const double smoothing : {-0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(CategoricalCrossentropy({.label_smoothing = smoothing}), UsageError);
    EXPECT_THROW(SparseCategoricalCrossentropy({.label_smoothing = smoothing}), UsageError);
    EXPECT_THROW(BinaryCrossentropy({.label_smoothing = smoothing}), UsageError);
  }
  EXPECT_EQ(message_of([] { BinaryCrossentropy({.label_smoothing = 7}); }),
            "[crossentropy] label_smoothing must be in [0, 1], got 7");
  // A file's fault: its net is good without it.
  EXPECT_THROW(make_loss("BinaryCrossentropy", ConfigDict{{"label_smoothing", 7}}), InputError);
  EXPECT_THROW(make_loss("Huber", ConfigDict{{"delta", 0}}), InputError);
}

TEST(Loss, OfADerivedClassIsNotKnown) {
  struct Mine : MeanSquaredError {};
  EXPECT_FALSE(is_of_known_class(Mine()));
  for (const std::string& name : loss_names(Aliases::without))
    EXPECT_TRUE(is_of_known_class(*make_loss(name)));
}

TEST(Loss, ShowsAccuracyWhereThereAreClasses) {
  for (const char* name :
       {"categorical_crossentropy", "sparse_categorical_crossentropy", "binary_crossentropy"})
    EXPECT_EQ(make_loss(name)->default_metric()->name(), "accuracy") << name;
  for (const char* name : {"mse", "mae", "huber", "kl_divergence", "poisson"})
    EXPECT_EQ(make_loss(name)->default_metric(), nullptr) << name;
  // Logits above 0 say yes.
  const auto of_logits = BinaryCrossentropy({.from_logits = true}).default_metric();
  of_logits->update(f64_tensor({2, 1}, {0.2, -0.1}), i32_tensor({1, 0}));
  EXPECT_EQ(of_logits->sums()[0], 2.0);
}

}  // namespace
}  // namespace ronde::test
