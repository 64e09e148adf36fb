/// What the handles of one Variable share.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ronde/core/node.h>
#include <ronde/core/variable.h>

namespace ronde::inline v0 {

struct Variable::State {
  explicit State(Tensor v) : value(std::move(v)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// What a result remembers of how it was made, so that a loss need not undo it.
  enum class Origin { none, softmax, sigmoid, rows };

  /// Remembers that `y` was made of `inputs` this way; where nothing is recorded, of their values, so that a
  /// chain of results does not keep its beginning alive.
  static void set_origin(const Variable& y, Origin how, const std::vector<Variable>& inputs);
  /// These inputs where it was made this way, else none.
  static std::vector<Variable> origin(const Variable& y, Origin how);
  /// The same of what is made of one input, else an undefined variable.
  static Variable input_of(const Variable& y, Origin how);

  /// Adds to the gradient. `is_ours`: nobody else sees the memory of `contribution`, so it may be kept.
  void accumulate(const Tensor& contribution, bool is_ours);
  /// The same of a contribution to a range of it, which is zero elsewhere.
  void accumulate_range(const InputGrads::Range& range, const Tensor& contribution);

  Tensor value;
  Tensor grad;              // memory of the gradient; its content counts only while has_grad
  bool has_grad = false;    // a gradient was accumulated since the last zero_grad
  bool grad_bound = false;  // grad is memory of the caller: it stays, zero_grad or not
  bool requires_grad = false;
  std::shared_ptr<Node> node;  // what made this; none for a leaf
  std::vector<std::shared_ptr<State>> origins;
  Origin made_by = Origin::none;
  std::vector<std::function<void(const Variable&)>> hooks;
};

}  // namespace ronde::inline v0
