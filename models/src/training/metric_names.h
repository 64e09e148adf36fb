/// What the logs call the metrics of a model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

/// Their names, in their order. One that is there already gets a number, as in Keras: recall, recall_1,
/// recall_2. A UsageError for a metric called "loss", which the logs have beside them.
std::vector<std::string> metric_names(const std::vector<std::shared_ptr<Metric>>& metrics);

}  // namespace ronde::inline v0
