/// Layers from their Keras configs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// The layer that a file of Keras 2.10 to 3.15 describes. Unknown keys change nothing: `unknown_options`
/// names them, and the layer's config() has them as they were. An InputError names an unknown class
/// ("package>X" and "module.X" are those of a program, whatever X is), or layer, key and value when Ronde
/// cannot do what is asked for (channels_first, unknown activations). A Sequential's InputLayers are skipped:
/// the caller reads the input shape. Constraints, activity regularizers and regularizers that are not known,
/// which change training and no output, are left out: `left_out_of_training` names them, and config() has
/// them too. In place of an initializer that is not known the layer has its default, in place of a '/' in its
/// name, which Keras 2 allows, a '_'.
RONDE_API std::unique_ptr<Module> layer_from_config(const std::string& class_name, const ConfigValue& config);
/// What `layer_from_config` makes such a layer of: {"class_name", "config"}. A Sequential is described as
/// what it is to Keras: with a MultiHeadAttention, which there always takes several inputs, a functional net.
RONDE_API ConfigDict described_layer(const Module& layer);
/// The class of that.
RONDE_API std::string described_class(const Module& layer);
/// Whether the module is of a class that `layer_from_config` makes: of that itself, not of one derived from
/// it.
RONDE_API bool is_of_known_class(const Module& module);
/// What `layer_from_config` has left out of a layer or of a whole net, "kernel_constraint of block/dense_1", and
/// the layers that are TrainingOnly, "RandomFlip random_flip", in its order.
RONDE_API std::vector<std::string> left_out_of_training(const Module& net);
/// The keys of a layer's config that are neither null nor known here, so that nothing is made of them.
RONDE_API std::vector<std::string> unknown_options(const std::string& class_name, const ConfigValue& config);
/// The shape, without the batch, that the config of an InputLayer, or of a first layer, has; 0 for an extent
/// that it leaves open. None where it has no shape. InputError for one of too many axes, or with an extent
/// that is not positive.
RONDE_API std::optional<Shape> described_input_shape(const ConfigValue& layer_config);
/// Keras' class names that `layer_from_config` knows, in alphabetical order.
RONDE_API std::vector<std::string> layer_class_names();
/// The class in snake case, from which Keras makes the names of layers: "DepthwiseConv2D" ->
/// "depthwise_conv2d".
RONDE_API std::string default_layer_name(const std::string& class_name);

}  // namespace ronde::inline v0
