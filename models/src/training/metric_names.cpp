#include "training/metric_names.h"

#include <algorithm>

namespace ronde::inline v0 {

std::vector<std::string> metric_names(const std::vector<std::shared_ptr<Metric>>& metrics) {
  std::vector<std::string> names;
  const auto is_taken = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& metric : metrics) {
    const std::string asked = metric->name();
    require<UsageError>(asked != "loss", "[compile] a metric must not be called loss, as the loss is");
    std::string name = asked;
    for (int number = 1; is_taken(name); ++number) name = cat(asked, "_", number);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace ronde::inline v0
