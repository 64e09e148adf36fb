/// A net <-> the JSON tree of Keras' files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ronde/nn/config.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Keras' model_config; null for a net that Keras has no classes for (one with a forward() of the user's
/// own).
ConfigValue model_config(const Module& module);

/// Before the first step of a training that saves whole models under this name: UsageError, the same on all
/// ranks, where such a file needs a model_config, as .keras does, and the net has none.
void require_config_for(const char* who, const std::string& path, const Module& module);

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

}  // namespace ronde::inline v0
