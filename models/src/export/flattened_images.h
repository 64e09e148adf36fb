/// Which layers work on the pixels of a flattened image: Note [Flattened images].
#pragma once

#include <map>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// The image's shape (h, w, c) by the path of the layer.
using FlattenedImages = std::map<std::string, Shape>;

/// Images of one pixel or one channel are left out: both orders are the same. An Error names a layer that
/// mixes flattened pixels with other values, so that there is no order for PyTorch.
FlattenedImages find_flattened_images(const Module& net);

}  // namespace ronde::inline v0
