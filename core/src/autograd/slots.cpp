#include "autograd/slots.h"

#include <algorithm>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>

#include "autograd/gradient_range.h"

namespace ronde::inline v0 {

void Engine::Slots::begin(Node& node) {
  node_ = &node;
  slots_.assign(node.edges_.size(), Slot{});
}

Node::Edge& Engine::Slots::edge(int i) const {
  require(i >= 0 && static_cast<std::size_t>(i) < slots_.size(), "[", node_->name(), "] has ",
          counted(slots_.size(), "input"), ", but its backward asked for input ", i);
  return node_->edges_[static_cast<std::size_t>(i)];
}

bool Engine::Slots::wanted(int i) const {
  const Node::Edge& e = edge(i);
  return e.node != nullptr || e.leaf != nullptr;
}

const Tensor& Engine::Slots::out(int i) {
  const Node::Edge& e = edge(i);
  require(wanted(i), "[", node_->name(), "] the gradient of input ", i, " is not wanted");
  Slot& s = slot(i);
  if (s.given != Given::nothing) return s.grad;
  if (e.leaf && e.leaf->grad_bound && !e.leaf->has_grad) {
    e.leaf->has_grad = true;
    s = {e.leaf->grad, Given::in_place};
  } else if (e.leaf) {
    s = {Tensor::empty_like(e.leaf->value), Given::fresh};
  } else {
    s = {Tensor::empty(e.node->output_shape_, e.node->output_options_), Given::fresh};
  }
  return s.grad;
}

// A gradient that belongs to a leaf goes where the leaf has it.
bool Engine::Slots::fits_in_place(const Node::Edge& e) const {
  if (!node_->owns_grad_ || !e.node) return false;
  const auto& [dtype, backend] = e.node->output_options_;
  return node_->grad_.shape() == e.node->output_shape_ && node_->grad_.dtype() == dtype &&
         &node_->grad_.backend() == backend;
}

const Tensor& Engine::Slots::out_in_place(int i) {
  if (!fits_in_place(edge(i)) || slot(i).given != Given::nothing) return out(i);
  slot(i) = {node_->grad_, Given::fresh};
  node_->owns_grad_ = false;
  return slot(i).grad;
}

void Engine::Slots::set(int i, const Tensor& grad) {
  give(i, {grad, Given::shared});
}

void Engine::Slots::set_range(int i, const Range& range, const Tensor& grad) {
  give(i, {grad, Given::range, range});
}

void Engine::Slots::give(int i, Slot s) {
  const Node::Edge& e = edge(i);
  if (!wanted(i)) return;
  Shape shape = e.leaf ? e.leaf->value.shape() : e.node->output_shape_;
  if (s.given == Given::range) shape[s.range.axis] = s.range.end - s.range.begin;
  const DType dtype = e.leaf ? e.leaf->value.dtype() : e.node->output_options_.dtype;
  require(s.grad.defined() && s.grad.shape() == shape && s.grad.dtype() == dtype, "[", node_->name(),
          "] the gradient of input ", i, " must be ", dtype, " ", shape, ", got ", s.grad);
  require(slot(i).given == Given::nothing, "[", node_->name(), "] the gradient of input ", i,
          " was given twice");
  slot(i) = std::move(s);
}

bool Engine::Slots::aliases_memory_given_out(const Tensor& grad) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& s) {
    return (s.given == Given::fresh || s.given == Given::in_place) && s.grad.shares_storage_with(grad);
  });
}

void Engine::Slots::commit() {
  // A node may hand over a view of memory that out() gave it. What it shows must survive a later sum there.
  for (Slot& s : slots_) {
    const bool may_be_seen = s.given == Given::shared || s.given == Given::range;
    if (may_be_seen && aliases_memory_given_out(s.grad)) s.grad = s.grad.clone();
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& s = slots_[i];
    if (s.given == Given::nothing || s.given == Given::in_place) continue;
    const Node::Edge& e = node_->edges_[i];
    if (s.given == Given::range)
      e.leaf ? e.leaf->accumulate_range(s.range, s.grad) : add_range(*e.node, s);
    else
      e.leaf ? e.leaf->accumulate(s.grad, s.given == Given::fresh) : add(*e.node, s);
  }
  slots_.clear();
}

void Engine::Slots::add(Node& node, const Slot& s) {
  const bool fresh = s.given == Given::fresh;
  if (!node.grad_.defined()) {
    node.grad_ = s.grad;
    node.owns_grad_ = fresh;
    return;
  }
  Backend& backend = node.grad_.backend();
  if (node.owns_grad_) return backend.accumulate(node.grad_, s.grad, 1.0);
  const Tensor sum = fresh ? s.grad : Tensor::empty(node.output_shape_, node.output_options_);
  backend.binary(BinaryOp::add, sum, node.grad_, s.grad);
  node.grad_ = sum;
  node.owns_grad_ = true;
}

void Engine::Slots::add_range(Node& node, const Slot& s) {
  if (!node.grad_.defined()) {
    node.grad_ = Tensor::empty(node.output_shape_, node.output_options_);
    write_range(node.grad_, s.range, s.grad);
  } else {
    if (!node.owns_grad_) node.grad_ = node.grad_.clone();
    add_to_range(node.grad_, s.range, s.grad);
  }
  node.owns_grad_ = true;
}

}  // namespace ronde::inline v0
