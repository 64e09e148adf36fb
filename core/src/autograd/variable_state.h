/// What the handles of one Variable share.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ronde/core/variable.h>

namespace ronde::inline v0 {

struct Variable::State {
  explicit State(Tensor v) : value(std::move(v)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Remembers that `y` is the softmax of `x`.
  static void set_softmax_input(const Variable& y, const Variable& x);
  /// The `x` of the above, or an undefined variable.
  static Variable softmax_input(const Variable& y);

  /// Adds to the gradient. `is_ours`: nobody else sees the memory of `contribution`, so it may be kept.
  void accumulate(const Tensor& contribution, bool is_ours);

  Tensor value;
  Tensor grad;              // memory of the gradient; its content counts only while has_grad
  bool has_grad = false;    // a gradient was accumulated since the last zero_grad
  bool grad_bound = false;  // grad is memory of the caller: it stays, zero_grad or not
  bool requires_grad = false;
  std::shared_ptr<Node> node;     // what made this; none for a leaf
  std::shared_ptr<State> origin;  // of a softmax's result: the logits
  std::vector<std::function<void(const Variable&)>> hooks;
};

}  // namespace ronde::inline v0
