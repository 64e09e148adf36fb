/// Variable: a Tensor, its gradient, and the Node that made it. Define by run: each operation on variables
/// records a node; `backward()` walks the nodes in a fixed order.
///
///     Variable w = Variable::parameter(Tensor::zeros({10, 3}));
///     Variable loss = mean(square(matmul(x, w) - y));
///     loss.backward();
///     w.grad();                                     // d loss / d w, accumulated over backward() calls
///
/// Ownership: a Variable is a handle; copies share value, gradient and history. Thread safety: a graph
/// belongs to the thread that records it; graphs of different threads may share parameters only for reading.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

class Node;

class RONDE_API Variable {
 public:
  /// An undefined variable (an optional argument that is not given).
  Variable() = default;
  /// A constant.
  Variable(Tensor value);
  /// A leaf that gradients are accumulated into.
  static Variable parameter(Tensor value);

  bool defined() const { return state_ != nullptr; }
  const Tensor& value() const;
  const Shape& shape() const { return value().shape(); }
  int rank() const { return value().rank(); }
  std::int64_t size(int axis) const { return value().size(axis); }
  DType dtype() const { return value().dtype(); }
  double item() const { return value().item(); }

  bool requires_grad() const;
  /// Freezes or unfreezes a leaf.
  void set_requires_grad(bool requires_grad);
  bool is_leaf() const { return !node(); }
  const std::shared_ptr<Node>& node() const;

  /// The gradient, dense and of the value's shape; undefined when none was accumulated yet. Only leaves keep
  /// one.
  Tensor grad() const;
  /// Forgets the gradient. Bound memory (`bind`) is kept and overwritten by the next backward pass.
  void zero_grad();
  /// Puts value and gradient into memory of the caller (a ParameterArena's slices). The value is copied
  /// there. Undefined `grad_memory` leaves the gradient where it is.
  void bind(const Tensor& value_memory, const Tensor& grad_memory);
  /// Takes over a gradient that lies in memory of the caller, where the next ones go too: a backward pass
  /// without `zero_grad` adds to it. Of a frozen leaf it is none.
  void bind_gradient(const Tensor& grad_memory);
  /// Replaces the value of a leaf by a copy; shapes must agree.
  void assign(const Tensor& value);
  /// The same value without history.
  Variable detach() const;

  /// Which steps of sequences (n, steps, ...) count: f32 (n, steps) of ones and zeros; undefined: all do.
  /// Of this handle and its copies. Operations look at none and give none; layers hand it on and look at it
  /// as Keras' do (nn/masking.h).
  const Tensor& mask() const;
  void set_mask(const Tensor& mask);

  /// Accumulates d(this) / d(leaf) * seed into every leaf that requires a gradient. `seed` defaults to 1 for
  /// a single element. The walk is iterative, latest node first, and always adds in the same order. The graph
  /// is released as it is walked: a second walk is an error. If a hook or a node throws, the walk ends there,
  /// and gradients count for nothing until zero_grad().
  void backward(const Tensor& seed = {}) const;

  /// Calls `hook(*this)` once in each backward pass that reaches this leaf, after the last accumulation into
  /// it, while the rest of the graph has yet to be walked. The hook lives as long as the variable. A training
  /// step that a GPU repeats as one graph (Model::fit) walks nothing: hooks were called when it was captured.
  void on_grad_ready(std::function<void(const Variable&)> hook);

  /// Identity of the handle: copies compare equal.
  bool same_as(const Variable& other) const { return state_ == other.state_; }

  struct State;

 private:
  friend class Node;
  friend class Engine;
  explicit Variable(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  std::shared_ptr<const Tensor> mask_;  // null: none
};

/// While one lives, operations of this thread record nothing. `Model::fit` and `train_on_batch` record all
/// the same.
class RONDE_API NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// While one lives, operations of this thread record, also where a NoGrad lives outside of it.
class RONDE_API EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

/// Whether operations of this thread record nodes.
RONDE_API bool grad_enabled();

}  // namespace ronde::inline v0
