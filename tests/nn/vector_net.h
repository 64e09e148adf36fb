/// A net of weight vectors whose gradients a test chooses.
#pragma once

#include <memory>
#include <vector>

#include <ronde/core/ops.h>
#include <ronde/nn/parameter_arena.h>

#include "nn/testing.h"

namespace ronde::test {

class VectorNet {
 public:
  /// `regularizers`: of the first weights.
  VectorNet(const std::vector<std::vector<double>>& start, DType dtype,
            const std::vector<Regularizer>& regularizers = {})
      : weights_(start, dtype, regularizers) {
    weights_.build({1}, {.dtype = dtype, .backend = &backend("cpu")});
    arena_ = std::make_unique<ParameterArena>(weights_);
  }
  VectorNet(const std::vector<double>& start, DType dtype)
      : VectorNet(std::vector<std::vector<double>>{start}, dtype) {}

  ParameterArena& arena() { return *arena_; }
  const Module& module() const { return weights_; }
  const Tensor& value(std::size_t i = 0) { return weights_.parameters()[i].variable.value(); }
  Tensor grad(std::size_t i = 0) { return weights_.parameters()[i].variable.grad(); }

  /// Through a backward pass, as a loss linear in the weights.
  void set_gradients(const std::vector<std::vector<double>>& gradients) {
    arena_->zero_gradients();
    const std::vector<Parameter> parameters = weights_.parameters();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Variable& w = parameters[i].variable;
      sum(w * f64_tensor(w.shape(), gradients[i]).to(w.dtype())).backward();
    }
  }
  void set_gradient(const std::vector<double>& gradient) { set_gradients({gradient}); }

 private:
  struct Weights : Module {
    Weights(const std::vector<std::vector<double>>& start, DType dtype,
            const std::vector<Regularizer>& regularizers) {
      for (std::size_t i = 0; i < start.size(); ++i)
        add_parameter({.name = cat("w", i),
                       .variable = Variable::parameter(
                           f64_tensor({static_cast<std::int64_t>(start[i].size())}, start[i]).to(dtype)),
                       .regularizer = i < regularizers.size() ? regularizers[i] : Regularizer()});
    }
    Variable forward(const Variable& x, const Context&) override { return x; }
  };
  Weights weights_;
  std::unique_ptr<ParameterArena> arena_;
};

}  // namespace ronde::test
