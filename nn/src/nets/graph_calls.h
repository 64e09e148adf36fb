/// The calls of a net's layers, as a config tells of them.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/nn/graph.h>

namespace ronde::inline v0 {

/// The result of one call.
struct CallReference {
  std::size_t layer;
  std::size_t call;
  auto operator<=>(const CallReference&) const = default;
};

struct ConfigCall {
  std::vector<CallReference> inputs;
  std::optional<CallReference> mask = {};
  std::optional<double> number = {};  // that an operation's result was compared with
  std::size_t by_place = GraphNode().by_place;
  bool is_needed = false;  // the output depends on it
  std::optional<Symbol> result = {};
};

struct ConfigLayer {
  std::string name;
  std::string class_name;
  std::unique_ptr<Module> module = nullptr;  // until its first call
  Module* placed = nullptr;
  bool is_input = false;
  bool is_functional = false;
  bool has_input_layer = false;        // a nested Sequential's
  std::optional<bool> is_causal = {};  // of an attention, as its calls so far say
  std::vector<ConfigCall> calls = {};
};

}  // namespace ronde::inline v0
