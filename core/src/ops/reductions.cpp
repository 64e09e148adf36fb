#include <limits>
#include <span>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

const char* name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::mean:
      return "mean";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      break;
  }
  return "min";
}

double largest_finite(DType dtype) {
  if (dtype == DType::bf16) return 0x1.FEp127;
  return dtype == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

// x's shape with extent 1 in the reduced axes.
Shape kept_shape(const char* name, const Tensor& x, const Shape& axes) {
  Shape kept = x.shape();
  for (int i = 0; i < kept.rank() && axes.rank() == 0; ++i) kept[i] = 1;
  for (const std::int64_t axis : axes) kept[resolve_axis(name, x, axis)] = 1;
  return kept;
}

// `kept` without the reduced axes.
Shape dropped_shape(const Tensor& x, Shape kept, const Shape& axes) {
  Shape result;
  for (int i = 0; i < kept.rank() && axes.rank() != 0; ++i) {
    bool reduced = false;
    for (const std::int64_t axis : axes) reduced = reduced || axis == i || axis + x.rank() == i;
    if (!reduced) result.push_back(kept[i]);
  }
  return result;
}

struct ReduceNode : Node {
  ReduceOp op;
  Shape x_shape, kept;

  const char* name() const override { return name_of(op); }
};

struct SumNode final : ReduceNode {
  double scale = 1.0;  // 1 / number of terms for the mean

  void backward(const Tensor& grad, InputGrads& grads) override {
    Tensor g = grad.reshape(kept);
    if (scale != 1.0) {
      const Tensor scaled = Tensor::empty_like(g);
      g.backend().unary(UnaryOp::affine, scaled, g, {.alpha = scale});
      g = scaled;
    }
    grads.set(0, g.broadcast_to(x_shape));
  }
};

struct ExtremeNode final : ReduceNode {
  Tensor x;
  Tensor y;  // of shape `kept`

  void backward(const Tensor& grad, InputGrads& grads) override {
    Backend& backend = x.backend();
    const Tensor& attained = grads.out(0);  // 1 where x is the extreme
    backend.binary(BinaryOp::equal, attained, x, y.broadcast_to(x_shape));
    const Tensor ties = Tensor::empty_like(y);
    backend.reduce(ReduceOp::sum, ties, attained);
    const Tensor share = Tensor::empty_like(y);
    backend.binary(BinaryOp::divide, share, grad.reshape(kept), ties);
    backend.binary(BinaryOp::multiply, attained, attained, share.broadcast_to(x_shape));
  }
};

template <class N>
std::shared_ptr<N> make_node(ReduceOp op, const Variable& x, const Shape& kept) {
  auto node = std::make_shared<N>();
  node->op = op;
  node->x_shape = x.shape();
  node->kept = kept;
  return node;
}

struct Reduced {
  Tensor value;  // of shape `kept`
  Shape kept;
  Shape shape;  // of the result
};

Reduced reduce(ReduceOp op, const Variable& x, const ReduceOptions& options) {
  require_floating(name_of(op), x.value());
  Reduced r;
  r.kept = kept_shape(name_of(op), x.value(), options.axes);
  r.shape = options.keep_dims ? r.kept : dropped_shape(x.value(), r.kept, options.axes);
  r.value = Tensor::empty(r.kept, x.value().options());
  r.value.backend().reduce(op, r.value, x.value().contiguous());
  return r;
}

Variable sum_or_mean(ReduceOp op, const Variable& x, const ReduceOptions& options) {
  const Reduced r = reduce(op, x, options);
  const Tensor y = r.value.reshape(r.shape);
  if (!Node::needed({x})) return y;
  auto node = make_node<SumNode>(op, x, r.kept);
  if (op == ReduceOp::mean && x.value().count() > 0)
    node->scale = static_cast<double>(y.count()) / static_cast<double>(x.value().count());
  return Node::record(std::move(node), {x}, y);
}

Variable extreme(ReduceOp op, const Variable& x, const ReduceOptions& options) {
  const Reduced r = reduce(op, x, options);
  const Tensor y = r.value.reshape(r.shape);
  if (!Node::needed({x})) return y;
  auto node = make_node<ExtremeNode>(op, x, r.kept);
  node->x = x.value();
  node->y = r.value;
  return Node::record(std::move(node), {x}, y);
}

}  // namespace

Variable sum(const Variable& x, ReduceOptions options) {
  return sum_or_mean(ReduceOp::sum, x, options);
}

Variable mean(const Variable& x, ReduceOptions options) {
  return sum_or_mean(ReduceOp::mean, x, options);
}

Variable max(const Variable& x, ReduceOptions options) {
  return extreme(ReduceOp::max, x, options);
}

Variable min(const Variable& x, ReduceOptions options) {
  return extreme(ReduceOp::min, x, options);
}

Variable variance(const Variable& x, ReduceOptions options) {
  return mean(square(x - mean(x, {.axes = options.axes, .keep_dims = true})), options);
}

// The largest element is taken out of the sum as a constant, which changes no gradient. One that is not
// finite would make inf - inf.
Variable log_sum_exp(const Variable& x, ReduceOptions options) {
  const Variable largest = [&] {
    const NoGrad constant;
    const Variable most = max(x, {.axes = options.axes, .keep_dims = true});
    const double limit = largest_finite(x.dtype());
    return clamp(most, -limit, limit);
  }();
  const Variable rest = log(sum(exp(x - largest), options));
  return rest + reshape(largest, rest.shape());
}

Tensor argmax(const Tensor& x) {
  require(x.rank() > 0 && x.shape().back() > 0,
          "[argmax] expects at least one element along the last axis, got shape ", x.shape());
  const Shape rows(std::span(x.shape().begin(), static_cast<std::size_t>(x.rank() - 1)));
  const Tensor out = Tensor::empty(rows, {.dtype = DType::i64, .backend = &x.backend()});
  x.backend().argmax(out, x.contiguous());
  return out;
}

}  // namespace ronde::inline v0
