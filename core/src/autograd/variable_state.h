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

  /// What makes probabilities of logits.
  enum class Squashing { none, softmax, sigmoid };

  /// Remembers that `y` is that of `x`.
  static void set_logits(const Variable& y, const Variable& x, Squashing how);
  /// The `x` of the above where it was made this way, else an undefined variable.
  static Variable logits(const Variable& y, Squashing how);

  /// Adds to the gradient. `is_ours`: nobody else sees the memory of `contribution`, so it may be kept.
  void accumulate(const Tensor& contribution, bool is_ours);

  Tensor value;
  Tensor grad;              // memory of the gradient; its content counts only while has_grad
  bool has_grad = false;    // a gradient was accumulated since the last zero_grad
  bool grad_bound = false;  // grad is memory of the caller: it stays, zero_grad or not
  bool requires_grad = false;
  std::shared_ptr<Node> node;     // what made this; none for a leaf
  std::shared_ptr<State> origin;  // of the result of a softmax or a sigmoid: the logits
  Squashing squashing = Squashing::none;
  std::vector<std::function<void(const Variable&)>> hooks;
};

}  // namespace ronde::inline v0
