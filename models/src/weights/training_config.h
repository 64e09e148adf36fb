/// An optimizer, a loss and metrics <-> the JSON trees of Keras' files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ronde/models/model.h>
#include <ronde/nn/config.h>
#include <ronde/nn/graph.h>

namespace ronde::inline v0 {

/// Keras' training_config, of a built net.
ConfigValue training_config(const Optimizer& optimizer, const Loss& loss, const Module& net,
                            const std::vector<std::shared_ptr<Metric>>& metrics,
                            const std::vector<std::shared_ptr<Metric>>& weighted_metrics);

/// Among the settings of an optimizer that a file has beside its training_config: a schedule that is not in
/// there, as Keras has none like it, or the optimizer a decay too.
inline constexpr const char* kScheduleLeftOut = "schedule";

/// What a training_config says, as far as Ronde knows it; without optimizer or loss when it does not.
struct DescribedTraining {
  CompileOptions options;
  std::vector<std::string> unknown;          ///< a line for each thing that is left out
  std::vector<std::string> unknown_factors;  ///< of the loss, which would be another without them
};
/// `settings`: those of the optimizer that Keras has no keys for; `outputs`: those of a net that has several.
DescribedTraining training_from_config(const ConfigValue& config, const ConfigDict& settings,
                                       const std::string& keras_version,
                                       const std::vector<NetPart>& outputs = {});

}  // namespace ronde::inline v0
