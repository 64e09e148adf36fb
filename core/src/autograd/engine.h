/// Engine: one backward pass over a recorded graph.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <ronde/core/node.h>

namespace ronde::inline v0 {

class Engine {
 public:
  /// Accumulates d(root) / d(leaf) * seed into all leaves before `root`, then releases the graph, also when a
  /// node or a hook throws.
  static void run(const Variable& root, const Tensor& seed);

 private:
  class Slots;

  Engine() = default;
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void discover(const std::shared_ptr<Node>& root);
  void visit(const std::shared_ptr<Node>& node);
  void walk();
  void step(Node& node, Slots& slots);
  void finish(const std::shared_ptr<Variable::State>& leaf);
  static void retire(Node& node);

  std::vector<std::shared_ptr<Node>> nodes_;            // in the order of the walk
  std::unordered_map<const void*, std::int64_t> uses_;  // contributions that a leaf still waits for
};

}  // namespace ronde::inline v0
