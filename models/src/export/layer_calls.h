/// A net as a list of layers with their inputs: what a file format that stores a graph needs.
#pragma once

#include <cstddef>
#include <vector>

#include <ronde/nn/graph.h>

namespace ronde::inline v0 {

/// Values are numbered: first the net's inputs, then what each call gives.
struct LayerCall {
  const Module* layer;  ///< has no layers of its own that are known
  std::vector<std::size_t> inputs;
};

struct LayerCalls {
  std::vector<NetPart> inputs = {};
  std::vector<LayerCall> calls = {};  ///< each after those it depends on
  std::vector<NetPart> outputs = {};
  std::vector<std::size_t> output_values = {};
};

/// Containers (Sequential, Graph) are dissolved, at any depth; every other module is one call, also one whose
/// forward() is the user's own, or a graph within a net that takes or gives several things. An input or an
/// output that is the only one may have no name.
LayerCalls layer_calls(const Module& net);

}  // namespace ronde::inline v0
