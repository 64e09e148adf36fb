/// A net's weights <-> the layers of a file in Keras 3's layout.
#pragma once

#include <vector>

#include "weights/saved_layers.h"

namespace ronde::inline v0 {

/// Note [Layers by class]: Keras 3 finds a layer in a file by the path of groups that leads to it. Layers of
/// a Sequential or of a functional net lie in its group "layers", each under its class in snake case with the
/// number of layers of that class before it ("conv2d", "conv2d_1"), whatever their own names are; parts of a
/// net with a forward() of its own lie under the names of its members. The weights are numbered, trainable
/// ones first.
///
/// `layers`, those of `save_layers`, have the arrays, which are shared, not copied.
std::vector<SavedLayer> arrange_by_class(const Module& module, const std::vector<SavedLayer>& layers);

/// All weights in the order of Keras' model.weights, layer after layer.
std::vector<Parameter> weights_in_keras_order(const Module& module);

/// Which weight gets which of the file's values, whatever its layout, after comparing everything. The
/// InputError says which layer differs, and how.
std::vector<WeightAssignment> match_file(const Module& module, const SavedModel& file);

}  // namespace ronde::inline v0
