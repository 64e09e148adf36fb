#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include <ronde/nn/auc.h>
#include <ronde/nn/binary_metrics.h>
#include <ronde/nn/fbeta_score.h>
#include <ronde/nn/loss_metric.h>
#include <ronde/nn/top_k_accuracy.h>

#include "config/config_options.h"
#include "config/known_names.h"
#include "losses/loss_factory.h"
#include "metrics/auc_config.h"
#include "metrics/fbeta_config.h"

namespace ronde::inline v0 {

namespace {

/// "Precision", but not "MAE", which is a function's other name.
bool is_class_name(const std::string& name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return !name.empty() && is_upper(name.front()) && !std::all_of(name.begin(), name.end(), is_upper);
}

/// What is shown: the option, or what was asked for; empty for a class, which has a name of its own.
std::string shown_name(const ConfigValue& options, const std::string& asked) {
  const ConfigValue* name = find_option(options, "name");
  if (name) return name->as_string();
  return is_class_name(asked) ? std::string() : asked;
}

std::optional<double> threshold_in(const std::string& name, const ConfigValue& options) {
  for (const char* key : {"threshold", "thresholds"}) {
    const ConfigValue* threshold = find_option(options, key);
    if (threshold && threshold->is_list()) {
      require<InputError>(threshold->as_list().size() == 1, "metric \"", name,
                          "\": several thresholds are not supported");
      threshold = &threshold->as_list().front();
    }
    if (threshold) return threshold->as_double();
  }
  return {};
}

template <class Made>
std::shared_ptr<Metric> binary(const std::string& name, const ConfigValue& options) {
  return std::make_shared<Made>(BinaryMetricOptions{.threshold = threshold_in(name, options).value_or(0.5),
                                                    .name = shown_name(options, name)});
}

template <class Made>
std::shared_ptr<Metric> precision(const std::string& name, const ConfigValue& options) {
  PrecisionOptions chosen{.threshold = threshold_in(name, options), .name = shown_name(options, name)};
  if (const ConfigValue* k = find_option(options, "top_k")) chosen.top_k = k->as_int();
  if (const ConfigValue* id = find_option(options, "class_id")) chosen.class_id = id->as_int();
  return std::make_shared<Made>(std::move(chosen));
}

template <class Made>
std::shared_ptr<Metric> top_k(const std::string& name, const ConfigValue& options) {
  const ConfigValue* option = find_option(options, "k");
  const std::int64_t k = option ? option->as_int() : 5;
  // More than there are classes are all of them.
  const std::int64_t most = std::numeric_limits<int>::max();
  return std::make_shared<Made>(TopKOptions{.k = static_cast<int>(std::clamp<std::int64_t>(k, 0, most)),
                                            .name = shown_name(options, name)});
}

std::shared_ptr<Metric> accuracy(const std::string& name, const ConfigValue& options) {
  const std::string shown = shown_name(options, name);
  if (name == "accuracy" || name == "acc") return std::make_shared<Accuracy>(shown);
  const bool is_sparse = name.starts_with("Sparse") || name.starts_with("sparse");
  return std::make_shared<Accuracy>(!shown.empty() ? shown
                                    : is_sparse    ? "sparse_categorical_accuracy"
                                                   : "categorical_accuracy",
                                    is_sparse ? "SparseCategoricalAccuracy" : "CategoricalAccuracy");
}

std::shared_ptr<Metric> root_mean_squared_error(const std::string& name, const ConfigValue& options) {
  const std::string shown = shown_name(options, name);
  return shown.empty() ? std::make_shared<RootMeanSquaredError>()
                       : std::make_shared<RootMeanSquaredError>(shown);
}

template <class Made>
std::shared_ptr<Metric> fbeta(const std::string& name, const ConfigValue& options) {
  FBetaOptions chosen = fbeta_options(name, options);
  chosen.name = shown_name(options, name);
  return std::make_shared<Made>(std::move(chosen));
}

std::shared_ptr<Metric> auc(const std::string&, const ConfigValue& options) {
  return std::make_shared<AUC>(auc_options(options));
}

struct MetricEntry {
  std::initializer_list<const char*> names;
  std::shared_ptr<Metric> (*make)(const std::string& name, const ConfigValue& options);
};

const MetricEntry kMetrics[] = {
    {{"accuracy", "acc", "categorical_accuracy", "sparse_categorical_accuracy", "CategoricalAccuracy",
      "SparseCategoricalAccuracy"},
     accuracy},
    {{"binary_accuracy", "BinaryAccuracy"}, binary<BinaryAccuracy>},
    {{"precision", "Precision"}, precision<Precision>},
    {{"recall", "Recall"}, precision<Recall>},
    {{"true_positives", "TruePositives"}, binary<TruePositives>},
    {{"false_positives", "FalsePositives"}, binary<FalsePositives>},
    {{"true_negatives", "TrueNegatives"}, binary<TrueNegatives>},
    {{"false_negatives", "FalseNegatives"}, binary<FalseNegatives>},
    {{"f1_score", "F1Score"}, fbeta<F1Score>},
    {{"fbeta_score", "FBetaScore", "f_beta_score"}, fbeta<FBetaScore>},
    {{"top_k_categorical_accuracy", "TopKCategoricalAccuracy"}, top_k<TopKCategoricalAccuracy>},
    {{"sparse_top_k_categorical_accuracy", "SparseTopKCategoricalAccuracy"},
     top_k<SparseTopKCategoricalAccuracy>},
    {{"auc", "AUC"}, auc},
    {{"root_mean_squared_error", "RootMeanSquaredError", "rmse", "RMSE"}, root_mean_squared_error},
};

bool is_metric_of_loss(const std::string& name) {
  // Keras' metric of this name is the loss's negative.
  return is_loss_name(name) && name != "cosine_similarity" && name != "CosineSimilarity";
}

/// Those that are metrics alone, then those of losses.
std::vector<std::string> metric_names(Aliases aliases) {
  std::vector<std::string> names;
  for (const MetricEntry& entry : kMetrics)
    names.insert(names.end(), entry.names.begin(),
                 aliases == Aliases::with ? entry.names.end() : entry.names.begin() + 1);
  for (const std::string& name : loss_names(aliases))
    if (is_metric_of_loss(name)) names.push_back(name);
  return names;
}

}  // namespace

std::shared_ptr<Metric> make_metric(const std::string& name, const ConfigValue& options) {
  // What Keras 2 makes of a function.
  if (name == "MeanMetricWrapper") {
    ConfigDict rest = options.as_dict();
    std::erase_if(rest, [](const auto& option) { return option.first == "fn"; });
    return make_metric(options.at("fn").as_string(), rest);
  }
  for (const MetricEntry& entry : kMetrics)
    if (std::find(entry.names.begin(), entry.names.end(), name) != entry.names.end())
      return made_of_options([&] { return entry.make(name, options); });
  const std::string loss = name == "LogCoshError" || name == "log_cosh_error" ? "LogCosh" : name;
  if (!is_metric_of_loss(loss))
    throw InputError(
        unknown_name("metric", name, metric_names(Aliases::without), metric_names(Aliases::with)));
  return std::make_shared<LossMetric>(make_loss(loss, options), shown_name(options, name));
}

}  // namespace ronde::inline v0
