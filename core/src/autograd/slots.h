/// Engine::Slots: the gradients that one node gives to its inputs.
#pragma once

#include <vector>

#include "autograd/engine.h"
#include "autograd/variable_state.h"

namespace ronde::inline v0 {

class Engine::Slots final : public InputGrads {
 public:
  /// Starts anew for the inputs of `node`.
  void begin(Node& node);
  /// Adds what was given to the gradients of the inputs.
  void commit();

  bool wanted(int i) const override;
  const Tensor& out(int i) override;
  void set(int i, const Tensor& grad) override;
  void set_range(int i, const Range& range, const Tensor& grad) override;
  bool owns_grad_out() const override { return node_->owns_grad_; }
  const Tensor& out_in_place(int i) override;

 private:
  // How a gradient was given: not at all, in memory that the engine made, in memory of a bound leaf where it
  // stays, as a tensor that others may see, or as one of a range of the input only.
  enum class Given { nothing, fresh, in_place, shared, range };
  struct Slot {
    Tensor grad;
    Given given = Given::nothing;
    Range range{};
  };

  Node::Edge& edge(int i) const;
  bool fits_in_place(const Node::Edge& edge) const;
  Slot& slot(int i) { return slots_[static_cast<std::size_t>(i)]; }
  bool aliases_memory_given_out(const Tensor& grad) const;
  void give(int i, Slot slot);
  static void add(Node& node, const Slot& slot);
  static void add_range(Node& node, const Slot& slot);

  Node* node_ = nullptr;
  std::vector<Slot> slots_;
};

}  // namespace ronde::inline v0
