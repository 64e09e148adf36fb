/// Pieces that several backward functions share.
#pragma once

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

namespace ronde::inline v0 {

/// Where a gradient of shape `full` is computed for an input that was perhaps stretched to it. `memory()` is
/// the input's own memory if it was not, else scratch, which `finish()` sums over the stretched axes.
class BroadcastGrad {
 public:
  BroadcastGrad(InputGrads& grads, int input, const Shape& shape, const Tensor& like);
  const Tensor& memory() const { return memory_; }
  void finish() const;

 private:
  InputGrads& grads_;
  int input_;
  Shape shape_;
  Tensor memory_;
};

/// Gives `grad`, summed over the axes in which an input of `shape` was stretched. Shares it if there are
/// none.
void set_summed(InputGrads& grads, int input, const Shape& shape, const Tensor& grad);

/// out (of any shape with `grad`'s trailing axes) = grad summed over stretched axes; NumPy's rule backwards.
void sum_to(const Tensor& out, const Tensor& grad);

/// Memory like y for a gradient that a kernel may write over grad_y, of which it is made: that, if nobody
/// else sees it.
Tensor memory_over(const Tensor& grad_y, const Tensor& y, const InputGrads& grads);

/// The gradient in front of a relu whose result is y. Made in place if nobody else sees grad_y.
Tensor grad_before_relu(const Tensor& grad_y, const Tensor& y, const InputGrads& grads);

/// grad_bias (c) = sum of grad (..., c) over all axes but the last.
void bias_grad(const Tensor& grad_bias, const Tensor& grad);

}  // namespace ronde::inline v0
