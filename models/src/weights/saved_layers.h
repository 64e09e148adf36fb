/// A net's weights <-> the layers of a file.
#pragma once

#include <vector>

#include <ronde/models/saved_model.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Note [Layers of a file]: a Sequential or a Graph has one layer for each child, in Keras' order, also for
/// those without weights; a net among them is one layer with all its weights. A module of the user's own has
/// one for each module below it that has weights, named by its path. Weights are called "<path>:0"; what is
/// trained comes first within a layer, as in Keras.
std::vector<SavedLayer> save_layers(const Module& module);

/// A value in Keras' layout that is to become a weight's.
struct WeightAssignment {
  Parameter target;
  Tensor values;
};

/// Which weight gets which of a file's values, after comparing everything. A Sequential or a Graph
/// takes the layers that have weights one after the other, whatever their names (Keras' rule); another module
/// takes them by name.
/// The InputError says which layer differs, and how.
std::vector<WeightAssignment> match_layers(const Module& module, const std::vector<SavedLayer>& layers);

void assign_all(std::vector<WeightAssignment>& assignments);

}  // namespace ronde::inline v0
