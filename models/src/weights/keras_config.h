/// A net, an optimizer and a loss <-> the JSON trees of Keras' files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ronde/models/model.h>
#include <ronde/nn/config.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Keras' model_config; null for a net that Keras has no classes for (one with a forward() of the user's
/// own).
ConfigValue model_config(const Module& module);
/// Keras' training_config, of a net with such outputs.
ConfigValue training_config(const Optimizer& optimizer, const Loss& loss, const Shape& outputs,
                            const std::vector<std::shared_ptr<Metric>>& metrics,
                            const std::vector<std::shared_ptr<Metric>>& weighted_metrics);

struct DescribedNet {
  std::unique_ptr<Module> net;  ///< a Sequential or a Graph
  Shape input_shape;
};
/// The net that a model_config of this Keras, 2.2 to 3.15, describes. InputError when it is neither a
/// Sequential nor a functional model, or has what Ronde does not know.
/// `open_shape` is that of the input where the description leaves extents open; an InputError without it, or
/// where it is another than is described.
DescribedNet net_from_config(const ConfigValue& config, const std::string& keras_version,
                             const std::optional<Shape>& open_shape = {});

/// What a training_config says, as far as Ronde knows it; without optimizer or loss when it does not.
struct DescribedTraining {
  CompileOptions options;
  std::vector<std::string> unknown;          ///< a line for each thing that is left out
  std::vector<std::string> unknown_factors;  ///< of the loss, which would be another without them
};
/// `settings`: those of the optimizer that Keras has no keys for.
DescribedTraining training_from_config(const ConfigValue& config, const ConfigDict& settings,
                                       const std::string& keras_version);

}  // namespace ronde::inline v0
