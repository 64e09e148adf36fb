/// A net as a list of layers with their inputs: what a file format that stores a graph needs.
#pragma once

#include <cstddef>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Values are numbered: 0 is the net's input, i + 1 what call i gives.
struct LayerCall {
  const Module* layer;  ///< has no layers of its own that are known
  std::vector<std::size_t> inputs;
};

struct LayerCalls {
  std::vector<LayerCall> calls;  ///< each after those it depends on
  std::size_t output = 0;
};

/// Containers (Sequential, Graph) are dissolved, at any depth; every other module is one call, also one whose
/// forward() is the user's own.
LayerCalls layer_calls(const Module& net);

}  // namespace ronde::inline v0
