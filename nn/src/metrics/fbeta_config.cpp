#include "metrics/fbeta_config.h"

#include <utility>

#include "config/config_options.h"

namespace ronde::inline v0 {

namespace {

constexpr std::pair<ScoreAverage, const char*> kAverages[] = {
    {ScoreAverage::micro, "micro"}, {ScoreAverage::macro, "macro"}, {ScoreAverage::weighted, "weighted"}};

ScoreAverage read_average(const std::string& metric, const ConfigValue& name) {
  for (const auto& [average, known] : kAverages)
    if (name.as_string() == known) return average;
  throw InputError(
      cat("metric \"", metric, "\": average must be one of micro, macro, weighted, got ", name.as_string()));
}

ConfigValue average_name(ScoreAverage average) {
  for (const auto& [known, name] : kAverages)
    if (known == average) return name;
  return {};
}

}  // namespace

FBetaOptions fbeta_options(const std::string& metric, const ConfigValue& options) {
  FBetaOptions chosen{.beta = number_option(options, "beta", 1.0)};
  if (const ConfigValue* name = find_option(options, "name")) chosen.name = name->as_string();
  if (const ConfigValue* average = find_option(options, "average"))
    chosen.average = read_average(metric, *average);
  if (const ConfigValue* threshold = find_option(options, "threshold"))
    chosen.threshold = threshold->as_double();
  return chosen;
}

ConfigDict fbeta_config(const FBetaOptions& options) {
  return {{"name", options.name},
          {"average", average_name(options.average)},
          {"beta", options.beta},
          {"threshold", options.threshold ? ConfigValue(*options.threshold) : ConfigValue()}};
}

}  // namespace ronde::inline v0
