#include <ronde/core/node.h>

#include <algorithm>

#include <ronde/core/trace.h>

#include "autograd/release.h"
#include "autograd/variable_state.h"

namespace ronde::inline v0 {
namespace {

// Number of the thread's latest node.
thread_local std::uint64_t last_sequence = 0;

bool any_requires_grad(std::span<const Variable> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Variable& x) { return x.requires_grad(); });
}

}  // namespace

Node::~Node() {
  for (Edge& edge : edges_) {
    release(std::move(edge.node));
    release(std::move(edge.leaf));
  }
}

bool Node::needed(std::initializer_list<Variable> inputs) {
  return grad_enabled() && any_requires_grad(std::span(inputs.begin(), inputs.size()));
}

Variable Node::record(std::shared_ptr<Node> node, std::span<const Variable> inputs, Tensor value) {
  Variable result(std::move(value));
  if (!grad_enabled() || !any_requires_grad(inputs)) return result;
  require(node != nullptr && node->edges_.empty() && !node->released_,
          "[record] each operation needs a node of its own");
  node->edges_.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    // A graph may have been begun by another thread, so the number must pass those of the inputs.
    if (const std::shared_ptr<Node>& before = inputs[i].node()) {
      node->edges_[i].node = before;
      last_sequence = std::max(last_sequence, before->sequence_);
    } else {
      node->edges_[i].leaf = inputs[i].state_;
    }
  }
  if (is_tracing()) node->layer_ = TraceLayer::current();
  node->sequence_ = ++last_sequence;
  node->output_shape_ = result.shape();
  node->output_options_ = result.value().options();
  result.state_->requires_grad = true;
  result.state_->node = std::move(node);
  return result;
}

}  // namespace ronde::inline v0
