// A layer norm by the kernels that it is made of, in the dtype of its statistics: for backends that have none
// of their own, and what the others are tested against.
#include <ronde/core/backend.h>

namespace ronde::inline v0 {

namespace {

// Matrices (rows, k), and numbers of a row or of a column stretched to them.
class RowParts {
 public:
  RowParts(Backend& backend, const Tensor& x, const Tensor& mean)
      : backend_(backend), shape_(x.shape()), options_(mean.options()) {
    if (options_.dtype == DType::bf16) options_.dtype = DType::f32;
  }

  Tensor wide(const Tensor& x) const { return x.to(options_.dtype); }
  Tensor of_rows(const Tensor& numbers) const {
    return wide(numbers).reshape({shape_[0], 1}).broadcast_to(shape_);
  }
  Tensor of_columns(const Tensor& numbers) const { return wide(numbers).broadcast_to(shape_); }
  Tensor empty() const { return Tensor::empty(shape_, options_); }
  Tensor empty_rows() const { return Tensor::empty({shape_[0]}, options_); }
  Tensor combined(BinaryOp op, const Tensor& a, const Tensor& b) const {
    const Tensor result = empty();
    backend_.binary(op, result, a, b);
    return result;
  }
  Tensor mean_of_rows(const Tensor& x) const {
    const Tensor result = empty_rows();
    backend_.reduce(ReduceOp::mean, result.reshape({shape_[0], 1}), x);
    return result;
  }
  void sum_of_columns(const Tensor& to, const Tensor& x) const {
    backend_.reduce(ReduceOp::sum, to.reshape({1, shape_[1]}), x);
  }
  Tensor inverse_deviation(const Tensor& variance, double epsilon) const {
    const Tensor result = empty_rows();
    backend_.unary(UnaryOp::affine, result, wide(variance), {.beta = epsilon});
    backend_.unary(UnaryOp::power, result, result, {.alpha = -0.5});
    return of_rows(result);
  }

 private:
  Backend& backend_;
  Shape shape_;
  TensorOptions options_;
};

}  // namespace

void Backend::layer_norm(const Tensor& out, const Tensor& mean, const Tensor& variance, const Tensor& x,
                         const Tensor& gamma, const Tensor& beta, double epsilon) {
  const RowParts parts(*this, x, mean);
  const Tensor values = parts.wide(x), center = parts.mean_of_rows(values);
  const Tensor y = parts.combined(BinaryOp::subtract, values, parts.of_rows(center));
  const Tensor spread = parts.mean_of_rows(parts.combined(BinaryOp::multiply, y, y));
  binary(BinaryOp::multiply, y, y, parts.inverse_deviation(spread, epsilon));
  copy(mean, center);
  copy(variance, spread);
  if (gamma.defined()) binary(BinaryOp::multiply, y, y, parts.of_columns(gamma));
  if (beta.defined()) binary(BinaryOp::add, y, y, parts.of_columns(beta));
  copy(out, y);
}

void Backend::layer_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                  const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                  const Tensor& variance, const Tensor& gamma, double epsilon) {
  // With x^ the normalised x, d = grad_out * gamma and means over a row:
  // grad_x = (d - mean(d) - x^ * mean(d * x^)) / deviation
  const RowParts parts(*this, x, mean);
  const Tensor inverse = parts.inverse_deviation(variance, epsilon), grad = parts.wide(grad_out);
  const Tensor normalised = parts.combined(BinaryOp::subtract, parts.wide(x), parts.of_rows(mean));
  binary(BinaryOp::multiply, normalised, normalised, inverse);
  if (grad_beta.defined()) parts.sum_of_columns(grad_beta, grad);
  if (grad_gamma.defined())
    parts.sum_of_columns(grad_gamma, parts.combined(BinaryOp::multiply, grad, normalised));
  const Tensor d = gamma.defined() ? parts.combined(BinaryOp::multiply, grad, parts.of_columns(gamma)) : grad;
  const Tensor mean_d = parts.mean_of_rows(d);
  const Tensor slope = parts.mean_of_rows(parts.combined(BinaryOp::multiply, d, normalised));
  binary(BinaryOp::multiply, normalised, normalised, parts.of_rows(slope));
  const Tensor result = parts.combined(BinaryOp::subtract, d, parts.of_rows(mean_d));
  binary(BinaryOp::subtract, result, result, normalised);
  binary(BinaryOp::multiply, result, result, inverse);
  copy(grad_x, result);
}

}  // namespace ronde::inline v0
