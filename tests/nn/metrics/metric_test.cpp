#include <cmath>

#include <ronde/nn/auc.h>
#include <ronde/nn/binary_metrics.h>
#include <ronde/nn/fbeta_score.h>
#include <ronde/nn/loss_metric.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/top_k_accuracy.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

const Tensor& scores() {
  static const Tensor values = f64_tensor({4, 3}, {1, 2, 3,  //
                                                   5, 4, 0,  //
                                                   0, 7, 7,  // the first of equals wins
                                                   2, 1, 0});
  return values;
}

TEST(Accuracy, CountsOverBatches) {
  Accuracy accuracy;
  EXPECT_EQ(accuracy.result(), 0.0);
  accuracy.update(scores(), i32_tensor({2, 1, 1, 0}));
  accuracy.update(scores().slice(0, 0, 2), i32_tensor({0, 0}));
  EXPECT_EQ(accuracy.sums()[0], 4.0);
  EXPECT_EQ(accuracy.sums()[1], 6.0);
  EXPECT_DOUBLE_EQ(accuracy.result(), 4.0 / 6);
  EXPECT_EQ(accuracy.correct(), 4);
  accuracy.reset();
  EXPECT_EQ(accuracy.sums()[1], 0.0);
  EXPECT_EQ(accuracy.sums()[0], 0.0);
}

// k = 2^32 + 1 is not 1.
TEST(TopKAccuracy, OfMoreThanThereAreClasses) {
  const auto metric =
      make_metric("SparseTopKCategoricalAccuracy", ConfigDict{{"k", (std::int64_t{1} << 32) + 1}});
  metric->update(f64_tensor({1, 3}, {0.1, 0.2, 0.7}), i32_tensor({0}));
  EXPECT_EQ(metric->result(), 1.0);
}

// As the losses do.
TEST(Accuracy, TakesOneHotTargetsOfWholeNumbers) {
  const Tensor outputs = f64_tensor({2, 3}, {0.1, 0.2, 0.7, 0.5, 0.3, 0.2});
  const Tensor one_hot = i32_tensor({0, 0, 1, 0, 1, 0}).reshape({2, 3});
  for (const DType dtype : {DType::i32, DType::i64, DType::u8})
    for (const char* name : {"accuracy", "categorical_accuracy", "top_k_categorical_accuracy"}) {
      const auto metric = make_metric(name, ConfigDict{{"k", 1}});
      metric->update(outputs, one_hot.to(dtype));
      EXPECT_EQ(metric->result(), 0.5) << name;
    }
}

TEST(Accuracy, TakesOneHotTargetsAndFloats) {
  Accuracy accuracy;
  accuracy.update(scores().to(DType::f32), f64_tensor({4, 3}, {0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(accuracy.correct(), 2);
}

// scores() as two samples of two positions.
TEST(Accuracy, OfPositionsCountsEach) {
  const Tensor outputs = scores().reshape({2, 2, 1, 3});
  const Tensor labels = i32_tensor({2, 1, 1, 0});
  const Tensor one_hot = f64_tensor({2, 2, 1, 3}, {0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0});
  for (const Tensor& targets : {labels.reshape({2, 2, 1}), labels.reshape({2, 2, 1, 1}), one_hot}) {
    Accuracy accuracy;
    accuracy.update(outputs, targets);
    EXPECT_EQ(accuracy.sums(), (MetricSums{3, 4}));
    TopKCategoricalAccuracy best_two({.k = 2});
    best_two.update(outputs, targets);
    EXPECT_EQ(best_two.sums(), (MetricSums{4, 4}));
  }
  Accuracy of_one;
  of_one.update(f64_tensor({2, 2, 1}, {0.9, 0.2, 0.5, 0.7}), f64_tensor({2, 2}, {1, 0, 1, 0}));
  EXPECT_EQ(of_one.sums(), (MetricSums{2, 4}));
}

TEST(Accuracy, AnEmptyBatchChangesNothing) {
  Accuracy accuracy;
  accuracy.update(scores().slice(0, 0, 0), i32_tensor({}));
  EXPECT_EQ(accuracy.sums()[1], 0.0);
}

// Keras' rule for "accuracy"; the largest of one output says nothing.
TEST(Accuracy, OfOneOutputIsThatOfYesAndNo) {
  Accuracy accuracy;
  const Tensor probabilities = f64_tensor({4, 1}, {0.9, 0.2, 0.5, 0.7});
  accuracy.update(probabilities, i32_tensor({1, 0, 1, 0}));
  EXPECT_EQ(accuracy.correct(), 2);
  accuracy.update(probabilities, f64_tensor({4, 1}, {1, 0, 0, 1}));
  EXPECT_EQ(accuracy.correct(), 6);
  EXPECT_EQ(accuracy.sums()[1], 8.0);
  accuracy.reset();
  EXPECT_EQ(accuracy.correct(), 0);
}

// 2 is neither yes nor no, though a precision takes it for yes.
TEST(BinaryAccuracy, HasNoRightAnswerToAnotherTarget) {
  BinaryAccuracy accuracy;
  const Tensor probabilities = f64_tensor({4, 1}, {0.9, 0.2, 0.9, 0.2});
  accuracy.update(probabilities, f64_tensor({4, 1}, {2, 2, 1, 0.4}));
  EXPECT_EQ(accuracy.sums(), (MetricSums{1, 4}));
  Precision precision;
  precision.update(probabilities, f64_tensor({4, 1}, {2, 2, 1, 0.4}));
  EXPECT_EQ(precision.sums(), (MetricSums{2, 2}));
}

TEST(Accuracy, IsDescribedByItsNameOrItsClass) {
  const auto described = [](const char* name, const char* class_name) {
    const ConfigValue config = Accuracy(name, class_name).config();
    return config.is_dict()
               ? config.at("class_name").as_string() + ' ' + config.at("config").at("name").as_string()
           : config.is_null() ? ""
                              : config.as_string();
  };
  EXPECT_EQ(described("acc", ""), "acc");
  EXPECT_EQ(described("top1", ""), "");
  EXPECT_EQ(described("categorical_accuracy", ""), "categorical_accuracy");
  EXPECT_EQ(described("accuracy", "SparseCategoricalAccuracy"), "SparseCategoricalAccuracy accuracy");
  EXPECT_EQ(described("sparse_categorical_accuracy", "CategoricalAccuracy"),
            "CategoricalAccuracy sparse_categorical_accuracy");
}

TEST(LossMetric, OfAnEmptyBatchAndOfNone) {
  LossMetric metric(std::make_unique<MeanAbsoluteError>(), "mae");
  EXPECT_EQ(metric.name(), "mae");
  EXPECT_EQ(metric.result(), 0.0);
  metric.update(scores().slice(0, 0, 0), scores().slice(0, 0, 0));
  EXPECT_EQ(metric.sums()[1], 0.0);
  metric.update(scores(), scores() /* all right */);
  EXPECT_EQ(metric.sums()[1], 4.0);
  EXPECT_THROW(LossMetric(nullptr), UsageError);
}

TEST(Metric, TheMeanOfOtherSumsIsToBeSaid) {
  struct Largest : Metric {
    std::string name() const override { return "largest"; }
    void update(const Tensor&, const Tensor&) override {}
    MetricSums sums() const override { return {3}; }
    void reset() override {}
  };
  EXPECT_EQ(message_of([] { Largest().result(); }),
            "[largest] has 1 sums, which are no {sum, count}: override value to say what they mean");
}

TEST(Metric, KeepsANameOfItsOwn) {
  for (const char* class_name : {"CategoricalAccuracy", "SparseCategoricalAccuracy"}) {
    const ConfigValue config = make_metric(class_name, ConfigDict{{"name", "top1"}})->config();
    EXPECT_EQ(config.at("class_name").as_string(), class_name);
    EXPECT_EQ(make_metric(class_name, config.at("config"))->name(), "top1");
  }
  EXPECT_TRUE(Accuracy("top1").config().is_null()) << "which one it is, a model knows by its loss";
}

TEST(Metric, IsMadeByName) {
  EXPECT_EQ(make_metric("mae")->name(), "mae");
  EXPECT_EQ(make_metric("acc")->name(), "acc") << "as in Keras' logs";
  EXPECT_EQ(make_metric("acc")->config().as_string(), "acc");
  EXPECT_EQ(make_metric("Recall")->name(), "recall");
  for (const char* function : {"MAE", "MSE", "MAPE", "MSLE", "BCE"})
    EXPECT_EQ(make_metric(function)->name(), function) << "as in Keras' logs";
  const ConfigDict wrapped{{"name", "mse"}, {"dtype", "float32"}, {"fn", "mean_squared_error"}};
  EXPECT_EQ(make_metric("MeanMetricWrapper", wrapped)->name(), "mse");
  EXPECT_EQ(make_metric("rmse")->name(), "rmse");
  EXPECT_EQ(make_metric("log_cosh_error")->name(), "log_cosh_error");
  const auto best_two = make_metric("SparseTopKCategoricalAccuracy", ConfigDict{{"k", 2}, {"name", "top2"}});
  EXPECT_EQ(best_two->name(), "top2");
  EXPECT_EQ(make_metric("TopKCategoricalAccuracy", best_two->config().at("config"))->name(), "top2");
  EXPECT_EQ(make_metric("TopKCategoricalAccuracy")->name(), "top_k_categorical_accuracy");
  const std::string advice = message_of([] { make_metric("acuracy"); });
  EXPECT_TRUE(
      advice.starts_with("metric \"acuracy\" is not supported, did you mean accuracy? Known are accuracy, "))
      << advice;
  for (const char* known : {", precision, ", ", mean_squared_error, ", ", auc, "})
    EXPECT_NE(advice.find(known), std::string::npos) << advice;
  EXPECT_NE(message_of([] {
              make_metric("SparsTopKCategoricalAccuracy");
            }).find("did you mean SparseTopKCategoricalAccuracy?"),
            std::string::npos);
  EXPECT_THROW(make_metric("cosine_similarity"), InputError);  // Keras' is the loss's negative
  // Keras writes null for what was not asked for.
  const ConfigDict nothing{{"name", ConfigValue()}, {"thresholds", ConfigValue()}, {"top_k", ConfigValue()}};
  EXPECT_EQ(make_metric("Precision", nothing)->name(), "precision");
  EXPECT_THROW(make_metric("Recall", ConfigDict{{"thresholds", ConfigList{0.1, 0.9}}}), InputError);
  // A file's fault, and not a program's: its net is good without the metric.
  EXPECT_THROW(make_metric("TopKCategoricalAccuracy", ConfigDict{{"k", 0}}), InputError);
  EXPECT_THROW(make_metric("AUC", ConfigDict{{"num_thresholds", 1}}), InputError);
  EXPECT_THROW(make_metric("FBetaScore", ConfigDict{{"beta", -1.0}}), InputError);
}

// As Keras writes Precision(thresholds=[0.7]).
TEST(Metric, TakesAThresholdInAList) {
  const ConfigDict options{{"thresholds", ConfigList{0.7}}};
  for (const char* name : {"Precision", "BinaryAccuracy"}) {
    const auto metric = make_metric(name, options);
    metric->update(f64_tensor({3, 1}, {0.6, 0.8, 0.9}), f64_tensor({3, 1}, {1, 1, 0}));
    EXPECT_EQ(metric->sums(), (MetricSums{1, std::string(name) == "Precision" ? 2.0 : 3.0})) << name;
  }
}

TEST(Metric, ThoseWhoseNumbersKerasWouldRefuseAreNotWritten) {
  EXPECT_TRUE(make_metric("BinaryAccuracy", ConfigDict{{"threshold", 0}})->config().is_null());
}

// Keras 3.15's `_direction`.
TEST(Metric, SaysWhichValuesAreBetter) {
  for (const char* name :
       {"accuracy", "SparseCategoricalAccuracy", "binary_accuracy", "Precision", "Recall", "F1Score",
        "FBetaScore", "AUC", "TopKCategoricalAccuracy", "SparseTopKCategoricalAccuracy"})
    EXPECT_EQ(make_metric(name)->direction(), MetricDirection::larger) << name;
  for (const char* name : {"mse", "RootMeanSquaredError", "KLDivergence", "BinaryCrossentropy"})
    EXPECT_EQ(make_metric(name)->direction(), MetricDirection::smaller) << name;
  for (const char* name : {"TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives"})
    EXPECT_EQ(make_metric(name)->direction(), MetricDirection::unknown) << name;
}

TEST(Precision, OfOneClassOrOfTheBestOnes) {
  // Rows: 0.9 0.2 0.7 / 0.1 0.6 0.8; meant: 1 0 0 / 0 1 1.
  const Tensor said = f64_tensor({2, 3}, {0.9, 0.2, 0.7, 0.1, 0.6, 0.8});
  const Tensor meant = f64_tensor({2, 3}, {1, 0, 0, 0, 1, 1});
  const auto sums = [&](auto&& metric) {
    metric.update(said, meant);
    return metric.sums();
  };
  EXPECT_EQ(sums(Precision()), (MetricSums{3, 4}));
  EXPECT_EQ(sums(Precision({.class_id = 2})), (MetricSums{1, 2}));
  EXPECT_EQ(sums(Precision({.top_k = 1})), (MetricSums{2, 2}));
  EXPECT_EQ(sums(Recall({.top_k = 1})), (MetricSums{2, 3}));
  EXPECT_EQ(sums(Recall({.top_k = 1, .class_id = 1})), (MetricSums{0, 1}));
  EXPECT_EQ(sums(Precision({.threshold = 0.85, .top_k = 2})), (MetricSums{1, 1}));
  const Tensor alike = f64_tensor({1, 3}, {0.5, std::nan(""), 0.5});
  Precision first({.top_k = 1});
  first.update(alike, f64_tensor({1, 3}, {1, 0, 0}));
  EXPECT_EQ(first.sums(), (MetricSums{1, 1})) << "of equals the first, and no NaN";
  Precision behind_nan({.top_k = 1});
  behind_nan.update(f64_tensor({1, 3}, {std::nan(""), 0.25, 0.5}), f64_tensor({1, 3}, {0, 0, 1}));
  EXPECT_EQ(behind_nan.sums(), (MetricSums{1, 1}));
  // Without a threshold the best k count whatever they are, so one of 0.5 has to be written.
  const ConfigValue config = Precision({.threshold = 0.5, .top_k = 2}).config();
  EXPECT_EQ(config.at("config").at("thresholds").as_double(), 0.5);
  EXPECT_EQ(Precision({.top_k = 2}).config().at("config").find("thresholds"), nullptr);
}

TEST(Precision, RefusesAClassThatThereIsNot) {
  Precision precision({.class_id = 3});
  EXPECT_EQ(message_of([&] {
              precision.update(random_tensor({4, 3}), random_tensor({4, 3}));
            }),
            "[precision] class_id 3 is none of the 3 classes of outputs (4, 3)");
  EXPECT_THROW(Precision({.class_id = -1}), UsageError);
  EXPECT_THROW(Recall({.top_k = -1}), UsageError);
}

TEST(Auc, RefusesWhatItCannotMean) {
  const auto refused = [](const char* key, const ConfigValue& value) {
    return message_of([&] { make_metric("AUC", ConfigDict{{key, value}}); });
  };
  EXPECT_EQ(refused("curve", "PRC"), "metric \"AUC\": curve must be one of ROC, PR, got PRC");
  EXPECT_EQ(refused("label_weights", ConfigList{0.5, 0.5}), "metric \"AUC\": label_weights is not supported");
  EXPECT_THROW(AUC({.num_thresholds = 1}), UsageError);
  EXPECT_THROW(AUC({.thresholds = {0.5, 1.5}}), UsageError);
  AUC auc;
  EXPECT_EQ(message_of([&] { auc.update(f64_tensor({1}, {3.0}), f64_tensor({1}, {1.0})); }),
            "[auc] expects probabilities from 0 to 1, got 3; for logits choose from_logits");
  EXPECT_THROW(auc.update(f64_tensor({2, 1}, {0.0, 1.0}), f64_tensor({3}, {0.0, 1.0, 0.0})), Error);
}

TEST(Auc, NumbersThatAreNoneSayNo) {
  AUC auc;
  auc.update(f64_tensor({3}, {std::nan(""), 0.25, 0.75}), f64_tensor({3}, {0.0, 0.0, 1.0}));
  EXPECT_DOUBLE_EQ(auc.result(), 1.0);
}

// Keras: a label is yes unless it is 0, and an output is where it exceeds a threshold.
TEST(Auc, CountsLikeKerasWhatIsAtAThreshold) {
  AUC auc({.num_thresholds = 3});
  auc.update(f64_tensor({3}, {0.5, 0.75, 0.5}), f64_tensor({3}, {0.3, 1.0, 0.0}));
  EXPECT_EQ(auc.sums(), (MetricSums{1, 1, 1, 0}));  // yes, then no: from 0 up to 0.5, and above
}

TEST(TopKCategoricalAccuracy, OutputsThatAreNoNumbersAreNotAmongTheBest) {
  TopKCategoricalAccuracy best;
  best.update(f64_tensor({2, 2}, {std::nan(""), 0.5, 0.5, 0.25}), i32_tensor({0, 0}));
  EXPECT_EQ(best.sums(), (MetricSums{1, 2}));
}

TEST(Accuracy, RefusesWrongTargets) {
  Accuracy accuracy;
  EXPECT_EQ(message_of([&] { accuracy.update(scores(), i32_tensor({1})); }),
            "[accuracy] expects labels (4,) or one-hot rows (4, 3), got (1,)");
  EXPECT_THROW(accuracy.update(scores(), random_tensor({4, 2})), Error);
  EXPECT_THROW(accuracy.update(random_tensor({4}), i32_tensor({0, 0, 0, 0})), Error);
}

// A batch of none has none of them, either.
TEST(Metric, RefusesOtherNumbersOfTargetsThanOfOutputs) {
  for (const char* name : {"accuracy", "mae", "categorical_crossentropy", "top_k_categorical_accuracy", "AUC",
                           "Precision", "BinaryAccuracy", "f1_score"})
    for (const auto& [outputs, targets] : {std::pair{4, 3}, {4, 5}, {0, 1}, {4, 0}}) {
      const Shape wide{outputs, 3}, other{targets, 3};
      const Tensor output = Tensor::full(wide, 0.5, {.dtype = DType::f64});
      const std::string message =
          message_of([&] { make_metric(name)->update(output, Tensor::zeros(other, output.options())); });
      EXPECT_NE(message.find(cat(wide)), std::string::npos) << name << ": " << message;
      EXPECT_NE(message.find(cat(other)), std::string::npos) << name << ": " << message;
    }
  const Tensor none = Tensor::zeros({0, 3}, {.dtype = DType::f64});
  EXPECT_EQ(message_of([&] {
              Accuracy().update(none, i32_tensor({1, 2}));
            }),
            "[accuracy] expects targets for outputs (0, 3), got (2,)");
  EXPECT_EQ(message_of([&] {
              make_metric("mae")->update(none, i32_tensor({1, 2}));
            }),
            "[mae] expects targets for outputs (0, 3), got (2,)");
}

// Ranks without samples have as many sums as the others, so what they have been told decides, not the data.
TEST(FBetaScore, HasASumOfEachClassBeforeTheFirstSample) {
  F1Score score({.average = ScoreAverage::macro});
  score.expect_outputs({4});
  EXPECT_EQ(score.sums(), MetricSums(12, 0.0));
  EXPECT_EQ(score.result(), 0.0);
  AUC auc({.num_thresholds = 3, .multi_label = true});
  auc.expect_outputs({4});
  EXPECT_EQ(auc.sums().size(), 4u * 2 * 2);
  EXPECT_THROW(F1Score().expect_outputs({2, 2}), UsageError);
}

// Keras' thresholds are floats, so that an output of 0.3 is not above one of 0.3.
TEST(BinaryMetrics, ThresholdsOfFloatsAreFloats) {
  const Tensor said = Tensor::from<float>({4, 1}, {0.3f, 0.1f, 0.7f, 0.3f});
  const Tensor meant = Tensor::full({4, 1}, 1.0, {});
  TruePositives yes({.threshold = 0.3});
  yes.update(said, meant);
  EXPECT_EQ(yes.result(), 1.0);
  F1Score score({.threshold = 0.3});
  score.update(said, meant);
  EXPECT_EQ(score.sums(), (MetricSums{1, 1, 4}));
  TruePositives exact({.threshold = 0.3});
  exact.update(said.to(DType::f64), meant);
  EXPECT_EQ(exact.result(), 3.0);
}

// Keras: the largest output of a row says yes unless it is nothing; one with a threshold, above that.
TEST(FBetaScore, OutputsOfNothingSayNoAndSoDoThoseAtTheThreshold) {
  F1Score largest, above({.threshold = 0.5});
  largest.update(f64_tensor({2, 2}, {0, 0, 0.1, 0.2}), f64_tensor({2, 2}, {1, 0, 0, 1}));
  EXPECT_EQ(largest.sums(), (MetricSums{0, 1, 0, 1, 1, 1}));
  above.update(f64_tensor({2, 2}, {0.5, 0.6, 0.4, 0.7}), f64_tensor({2, 2}, {1, 1, 0, 1}));
  EXPECT_EQ(above.sums(), (MetricSums{0, 2, 0, 2, 1, 2}));
}

// Two halves add up to the whole, exactly.
TEST(FBetaScore, OfTheClassesApart) {
  const Tensor said = f64_tensor({4, 2}, {0.9, 0.1, 0.8, 0.2, 0.3, 0.7, 0.6, 0.4});
  const Tensor meant = f64_tensor({4, 2}, {1, 0, 0, 1, 0, 1, 1, 0});
  F1Score whole, first, second;
  whole.update(said, meant);
  // Class 0: 2 of 3 that say so, 2 of 2 that are meant; class 1: 1 of 1 and 1 of 2.
  const std::vector<double> scores = whole.scores(whole.sums());
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_DOUBLE_EQ(scores[0], 0.8);
  EXPECT_DOUBLE_EQ(scores[1], 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(whole.result(), (0.8 + 2.0 / 3.0) / 2.0);
  first.update(said.slice(0, 0, 1), meant.slice(0, 0, 1));
  second.update(said.slice(0, 1, 4), meant.slice(0, 1, 4));
  MetricSums sums = first.sums();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += second.sums()[i];
  EXPECT_EQ(sums, whole.sums());
  EXPECT_THROW(F1Score({.threshold = 0.0}), UsageError);
  EXPECT_THROW(FBetaScore({.beta = 0.0}), UsageError);
  EXPECT_THROW(whole.update(said, meant.slice(1, 0, 1)), Error);
  EXPECT_EQ(message_of([] {
              make_metric("F1Score", ConfigDict{{"average", "samples"}});
            }),
            "metric \"F1Score\": average must be one of micro, macro, weighted, got samples");
}

}  // namespace
}  // namespace ronde::test
