/// Node: one recorded operation. Derive from it to write an operation with its own gradient:
///
///     struct Square : Node {
///       Tensor x;
///       const char* name() const override { return "square"; }
///       void backward(const Tensor& grad_out, InputGrads& grads) override {
///         if (grads.wanted(0)) x.backend().binary(BinaryOp::multiply, grads.out(0), grad_out, x) ...
///       }
///     };
///     auto node = std::make_shared<Square>();  node->x = x.value();
///     return Node::record(node, {x}, value);
///
/// A recorded node keeps alive what its members hold, its leaves and the nodes before it, but not the values
/// of intermediate results: save in members exactly what `backward` reads. Kernels only ever *write* a
/// gradient; whether it is written straight into a parameter's memory or added to what is there is the
/// engine's business. See Note [Gradient accumulation] in engine.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include <ronde/core/variable.h>

namespace ronde::inline v0 {

/// Where a node's backward puts the gradients of its inputs.
class RONDE_API InputGrads {
 public:
  /// Elements begin .. end - 1 of `axis`, which is not negative.
  struct Range {
    int axis = 0;
    std::int64_t begin = 0, end = 0;
  };

  virtual ~InputGrads() = default;
  /// Whether the gradient of input `i` is needed at all.
  virtual bool wanted(int i) const = 0;
  /// Dense memory of input i's shape and dtype, not initialised: write it whole.
  virtual const Tensor& out(int i) = 0;
  /// Instead of writing `out(i)`: hands over a tensor (possibly a view) that already holds the gradient and
  /// that nobody will write to.
  virtual void set(int i, const Tensor& grad) = 0;
  /// Instead of writing `out(i)`, for a node that reads a range of input i: `grad`, of the range's shape, is
  /// the gradient there, and all else is zero. Nobody will write to `grad`. Many nodes that each read a range
  /// of one input cost as much as one that reads all: the zeros are written once.
  virtual void set_range(int i, const Range& range, const Tensor& grad) = 0;
  /// Whether nobody else sees the memory of `grad_out`: then it is dense and `backward` may overwrite it.
  virtual bool owns_grad_out() const = 0;
  /// In place of `out(i)`, for a kernel that may write its result over `grad_out`: that memory, where nobody
  /// else sees it and it has input i's shape and dtype. No other input may be given a view of it then.
  virtual const Tensor& out_in_place(int i) = 0;
};

class Engine;

class RONDE_API Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();
  /// A text that lives for ever, such as a literal.
  virtual const char* name() const = 0;
  /// `grad_out` has the shape of the output that was recorded and may be a strided view. Called at most once,
  /// with recording switched off. An input that is wanted but given nothing has gradient zero.
  virtual void backward(const Tensor& grad_out, InputGrads& grads) = 0;

  /// A variable with this `value`; if gradients are enabled and any input requires one, `node` becomes its
  /// history. Undefined inputs are allowed and never wanted.
  static Variable record(std::shared_ptr<Node> node, std::span<const Variable> inputs, Tensor value);
  static Variable record(std::shared_ptr<Node> node, std::initializer_list<Variable> inputs, Tensor value) {
    return record(std::move(node), std::span<const Variable>(inputs.begin(), inputs.size()),
                  std::move(value));
  }
  /// Whether `record` would keep the node: false lets an operation skip what only backward needs.
  static bool needed(std::initializer_list<Variable> inputs);

 private:
  friend class Engine;
  // Where the gradient of an input goes: to the node that made it or to a leaf. Neither: it is not wanted.
  struct Edge {
    std::shared_ptr<Node> node;
    std::shared_ptr<Variable::State> leaf;
  };

  std::vector<Edge> edges_;
  Shape output_shape_;
  TensorOptions output_options_;
  const char* layer_ = nullptr;  // that recorded it while a timeline was made
  std::uint64_t sequence_ = 0;   // creation order; larger than that of every node before it
  // During a backward pass:
  Tensor grad_;                     // d / d output, what has arrived so far
  bool owns_grad_ = false;          // whether nobody else can see grad_'s memory
  const Engine* walker_ = nullptr;  // who walks here
  bool released_ = false;
};

}  // namespace ronde::inline v0
