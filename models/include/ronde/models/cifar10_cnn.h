/// The net of the CIFAR-10 recipe, for images (32, 32, 3): twice conv - conv - pool - drop .25 with 32 and 64
/// filters, then dense512 - drop .5 - dense10: 1,250,858 weights.
#pragma once

#include <memory>

#include <ronde/nn/sequential.h>

namespace ronde::inline v0 {

/// Not built yet; ends in a softmax.
RONDE_API std::unique_ptr<Sequential> cifar10_cnn();

}  // namespace ronde::inline v0
