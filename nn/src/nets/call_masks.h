/// Masks in a net's config: Keras 3 notes which one a layer was given, and the operations that made it
/// (NotEqual, Any, LogicalOr, ConvertToTensor). Layers here find theirs themselves, so it has to be the one
/// that they find.
#pragma once

#include <vector>

#include "nets/graph_calls.h"

namespace ronde::inline v0 {

/// Whether the mask that is noted of a call, which has one, is that of its first input.
bool is_mask_of_input(const std::vector<ConfigLayer>& layers, const ConfigCall& call);

}  // namespace ronde::inline v0
