#include "metrics/auc_config.h"

#include <utility>

#include "config/config_options.h"

namespace ronde::inline v0 {

namespace {

constexpr std::pair<AucCurve, const char*> kCurves[] = {{AucCurve::roc, "ROC"}, {AucCurve::pr, "PR"}};

constexpr std::pair<AucSummation, const char*> kSummations[] = {
    {AucSummation::interpolation, "interpolation"},
    {AucSummation::minoring, "minoring"},
    {AucSummation::majoring, "majoring"}};

template <class Value, std::size_t count>
const char* name_of(const std::pair<Value, const char*> (&names)[count], Value value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "";
}

/// The option of a name in the table, if there is one.
template <class Value, std::size_t count>
void read_name(const ConfigValue& options, const char* key,
               const std::pair<Value, const char*> (&names)[count], Value& value) {
  const ConfigValue* given = find_option(options, key);
  if (!given) return;
  std::string expected;
  for (const auto& [known, name] : names) {
    if (given->as_string() == name) {
      value = known;
      return;
    }
    expected = cat(expected, expected.empty() ? "" : ", ", name);
  }
  throw InputError(cat("metric \"AUC\": ", key, " must be one of ", expected, ", got ", given->as_string()));
}

}  // namespace

AucOptions auc_options(const ConfigValue& options) {
  require<InputError>(!find_option(options, "label_weights"),
                      "metric \"AUC\": label_weights is not supported");
  AucOptions chosen;
  if (const ConfigValue* labels = find_option(options, "multi_label")) chosen.multi_label = labels->as_bool();
  if (const ConfigValue* name = find_option(options, "name")) chosen.name = name->as_string();
  if (const ConfigValue* number = find_option(options, "num_thresholds"))
    chosen.num_thresholds = static_cast<int>(number->as_int());
  if (const ConfigValue* logits = find_option(options, "from_logits")) chosen.from_logits = logits->as_bool();
  if (const ConfigValue* thresholds = find_option(options, "thresholds"))
    for (const ConfigValue& threshold : thresholds->as_list())
      chosen.thresholds.push_back(threshold.as_double());
  read_name(options, "curve", kCurves, chosen.curve);
  read_name(options, "summation_method", kSummations, chosen.summation);
  return chosen;
}

ConfigDict auc_config(const AucOptions& options) {
  ConfigDict config{{"name", options.name},
                    {"num_thresholds", options.num_thresholds},
                    {"curve", name_of(kCurves, options.curve)},
                    {"summation_method", name_of(kSummations, options.summation)}};
  if (!options.thresholds.empty())
    config.emplace_back("thresholds", ConfigList(options.thresholds.begin(), options.thresholds.end()));
  if (options.multi_label) config.emplace_back("multi_label", true);
  if (options.from_logits) config.emplace_back("from_logits", true);
  return config;
}

}  // namespace ronde::inline v0
