#include "autograd/engine.h"

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/trace.h>

#include "autograd/slots.h"

namespace ronde::inline v0 {

// Note [Gradient accumulation]
//
// A kernel only writes. The engine decides where, so that in the common case nothing is added or copied:
//
// * A leaf with bound memory (its slice of a ParameterArena) and no gradient since zero_grad: InputGrads::out
//   is that slice itself. A bucket can be sent from there.
// * Any other input: out() is fresh memory. It becomes the gradient, or is added to the one that is there.
// * set() shares a tensor. An intermediate gradient may be such a tensor, but nothing is ever added into it:
//   the second contribution goes to memory of the engine's own (`owns_grad_`). A leaf keeps a copy.
// * set_range() gives some elements only: the first contribution writes the zeros around it, each further one
//   is added to its own range, whose memory alone it touches.
//
// Contributions are added after the node's backward has returned, in the order of its inputs; nodes run by
// decreasing sequence number. So the order of all additions, and thereby every bit, is fixed.
//
// When a leaf's gradient is final is known by counting, before the walk, how many inputs of reachable nodes
// are that leaf; each counts down once its node is done, even if it gave nothing. At zero the hooks fire,
// while the nodes before it have yet to run: that is what communication overlaps with.

Engine::~Engine() {
  for (const std::shared_ptr<Node>& node : nodes_)
    if (node) retire(*node);
}

void Engine::run(const Variable& root, const Tensor& seed) {
  const NoGrad no_grad;
  const TraceScope scope("backward", "backward");
  Engine engine;
  if (const std::shared_ptr<Node>& node = root.node()) {
    engine.discover(node);
    node->grad_ = seed;
    return engine.walk();
  }
  root.state_->accumulate(seed, false);
  engine.finish(root.state_);
}

void Engine::visit(const std::shared_ptr<Node>& node) {
  if (node->walker_ == this) return;
  require(!node->released_, "[backward] the graph behind '", node->name(),
          "' was released by an earlier backward pass: run the forward pass again");
  require(node->walker_ == nullptr, "[backward] another backward pass is walking through '", node->name(),
          "'");
  node->walker_ = this;
  nodes_.push_back(node);
}

void Engine::discover(const std::shared_ptr<Node>& root) {
  visit(root);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::shared_ptr<Node> node = nodes_[i];
    for (Node::Edge& edge : node->edges_) {
      if (edge.leaf && !edge.leaf->requires_grad) edge.leaf.reset();  // frozen since it was recorded
      if (edge.leaf) ++uses_[edge.leaf.get()];
      if (edge.node) visit(edge.node);
    }
  }
  std::stable_sort(nodes_.begin(), nodes_.end(),
                   [](const auto& a, const auto& b) { return a->sequence_ > b->sequence_; });
}

void Engine::walk() {
  Slots slots;
  for (std::shared_ptr<Node>& node : nodes_) {
    step(*node, slots);
    node.reset();
  }
}

void Engine::step(Node& node, Slots& slots) {
  if (node.grad_.defined()) {
    const TraceScope scope("backward", node.layer_ ? node.layer_ : node.name(), {"op", node.name()});
    slots.begin(node);
    node.backward(node.grad_, slots);
    slots.commit();
  }
  const std::vector<Node::Edge> edges = std::move(node.edges_);
  retire(node);
  for (const Node::Edge& edge : edges)
    if (edge.leaf && --uses_[edge.leaf.get()] == 0) finish(edge.leaf);
}

void Engine::finish(const std::shared_ptr<Variable::State>& leaf) {
  if (!leaf->has_grad) {
    if (!leaf->grad_bound) leaf->grad = Tensor::empty_like(leaf->value);
    leaf->grad.fill(0.0);
    leaf->has_grad = true;
  }
  const Variable variable(leaf);
  for (std::size_t i = 0; i < leaf->hooks.size(); ++i) {
    const auto hook = leaf->hooks[i];  // a copy: a hook may add another one
    hook(variable);
  }
}

void Engine::retire(Node& node) {
  node.released_ = true;
  node.walker_ = nullptr;
  node.grad_ = {};
  node.edges_.clear();
}

}  // namespace ronde::inline v0
