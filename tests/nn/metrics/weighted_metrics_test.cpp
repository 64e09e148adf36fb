// Metrics of samples that count by weights, against those of real Keras (tests/golden/README.md).
#include <memory>

#include <ronde/nn/auc.h>
#include <ronde/nn/binary_metrics.h>
#include <ronde/nn/fbeta_score.h>
#include <ronde/nn/loss_metric.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/top_k_accuracy.h>

#include "nn/config_json.h"
#include "nn/testing.h"
#include "support/message_of.h"

namespace ronde::test {
namespace {

using nlohmann::json;

Tensor stored_values(const json& values, const json& extents) {
  Shape shape;
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return f64_tensor(shape, values.get<std::vector<double>>());
}

struct StoredMetric {
  explicit StoredMetric(const json& entry)
      : metric(make_metric(entry.at("name"), from_json(ordered_json::parse(entry.at("options").dump())))),
        output(stored_values(entry.at("output"), entry.at("shape"))),
        target(stored_values(entry.at("target"), entry.at("target_shape"))),
        weights(stored_values(entry.at("weights"), {12})),
        value(entry.at("value")) {
    if (target.rank() == 1) target = target.to(DType::i32);
  }
  /// Of some samples, in two batches.
  void see(std::int64_t begin, std::int64_t end) const {
    const std::int64_t middle = (begin + end) / 2;
    for (const auto& [from, to] : {std::pair{begin, middle}, {middle, end}})
      metric->update_weighted(output.slice(0, from, to), target.slice(0, from, to),
                              weights.slice(0, from, to));
  }

  std::shared_ptr<Metric> metric;
  Tensor output, target, weights;
  double value;
};

TEST(WeightedMetrics, MatchKeras) {
  const json record = read_golden("metrics_keras3.15.1.json");
  ASSERT_EQ(record.at("weighted").size(), 31u);
  for (const json& entry : record.at("weighted")) {
    SCOPED_TRACE(cat(entry.at("name").dump(), ' ', entry.at("options").dump()));
    const StoredMetric stored(entry);
    stored.see(0, 12);
    EXPECT_NEAR(stored.metric->result(), stored.value, 1e-6);
    const MetricSums all = stored.metric->sums();
    stored.metric->reset();
    EXPECT_EQ(stored.metric->sums(), MetricSums(all.size(), 0.0));
    // As over two ranks, whose sums are added.
    stored.see(0, 5);
    MetricSums sums = stored.metric->sums();
    stored.metric->reset();
    stored.see(5, 12);
    const MetricSums others = stored.metric->sums();
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i] + others[i], all[i], 1e-12);
  }
}

// Weights of 2 count a sample twice, those of 1 once, as no weights do, in whatever order they come.
TEST(WeightedMetrics, OfOnesAndTwosAreThoseOfRepeatedSamples) {
  const json golden = read_golden("metrics_keras3.15.1.json");
  for (const json& entry : golden.at("weighted")) {
    SCOPED_TRACE(cat(entry.at("name").dump(), ' ', entry.at("options").dump()));
    const StoredMetric stored(entry);
    const Tensor output = stored.output.slice(0, 0, 6), target = stored.target.slice(0, 0, 6);
    Metric& metric = *stored.metric;
    metric.update(output, target);
    metric.update_weighted(output, target, Tensor::full({6}, 2.0, output.options()));
    const MetricSums mixed = metric.sums();
    metric.reset();
    for (int i = 0; i < 3; ++i) metric.update(output, target);
    const MetricSums repeated = metric.sums();
    ASSERT_EQ(mixed.size(), repeated.size());
    for (std::size_t i = 0; i < mixed.size(); ++i) EXPECT_NEAR(mixed[i], repeated[i], 1e-5);
  }
}

TEST(WeightedMetrics, OfAnEmptyBatchOrWeightsOf0AreNothing) {
  const json golden = read_golden("metrics_keras3.15.1.json");
  for (const json& entry : golden.at("weighted")) {
    SCOPED_TRACE(cat(entry.at("name").dump(), ' ', entry.at("options").dump()));
    const StoredMetric stored(entry);
    stored.see(0, 0);
    stored.metric->update_weighted(stored.output, stored.target,
                                   Tensor::full({12}, 0.0, stored.output.options()));
    for (const double sum : stored.metric->sums()) EXPECT_EQ(sum, 0.0);
    EXPECT_EQ(stored.metric->result(), 0.0);
  }
}

TEST(WeightedMetrics, WantAWeightForEachSample) {
  const Tensor output = f64_tensor({2, 1}, {0.2, 0.9}), wrong = f64_tensor({3}, {1, 1, 1});
  const Tensor scores = f64_tensor({2, 3}, {1, 2, 3, 1, 2, 3});
  const auto message = [&](Metric&& metric, const Tensor& outputs, const Tensor& targets) {
    return test::message_of<Error>([&] { metric.update_weighted(outputs, targets, wrong); });
  };
  const std::string rest = "expects weights (2,) for outputs (2, 1), got (3,)";
  EXPECT_EQ(message(Precision(), output, output), "[precision] " + rest);
  EXPECT_EQ(message(AUC(), output, output), "[auc] " + rest);
  EXPECT_EQ(message(LossMetric(std::make_unique<MeanAbsoluteError>()), output, output),
            "[mean_absolute_error] " + rest);
  EXPECT_EQ(message(Accuracy(), output, i32_tensor({0, 1})), "[accuracy] " + rest);
  EXPECT_EQ(message(F1Score(), scores, scores),
            "[f1_score] expects weights (2,) for outputs (2, 3), got (3,)");
  for (const std::string name : {"accuracy", "top_k_categorical_accuracy"})
    EXPECT_EQ(test::message_of<Error>([&] {
                make_metric(name)->update_weighted(scores, i32_tensor({0, 1}), wrong);
              }),
              cat("[", name, "] expects weights (2,) for outputs (2, 3), got (3,)"));
}

class Unweighted : public Metric {
 public:
  std::string name() const override { return "unweighted"; }
  void update(const Tensor& output, const Tensor&) override { count_ += output.size(0); }
  MetricSums sums() const override { return {0.0, static_cast<double>(count_)}; }
  void reset() override { count_ = 0; }

 private:
  std::int64_t count_ = 0;
};

TEST(WeightedMetrics, OneThatDoesNotSayHowRefusesWeightsAlone) {
  Unweighted metric;
  const Tensor output = f64_tensor({2, 1}, {0.2, 0.9});
  metric.update_weighted(output, output, {});
  EXPECT_EQ(metric.sums()[1], 2.0);
  EXPECT_EQ(test::message_of<UsageError>([&] {
              metric.update_weighted(output, output, f64_tensor({2}, {1, 1}));
            }),
            "[unweighted] does not say how samples with weights, or the steps of outputs with a mask, count: "
            "override update_weighted, or, for the former, name it among metrics");
}

}  // namespace
}  // namespace ronde::test
