#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "autograd/variable_state.h"
#include "ops/checks.h"
#include "ops/gradients.h"

namespace ronde::inline v0 {
namespace {

struct ReshapeNode final : Node {
  Shape x_shape;

  const char* name() const override { return "reshape"; }
  void backward(const Tensor& grad, InputGrads& grads) override { grads.set(0, grad.reshape(x_shape)); }
};

struct PermuteNode final : Node {
  Shape inverse;

  const char* name() const override { return "permute"; }
  void backward(const Tensor& grad, InputGrads& grads) override { grads.set(0, grad.permute(inverse)); }
};

struct SliceNode final : Node {
  InputGrads::Range range;

  const char* name() const override { return "slice"; }
  void backward(const Tensor& grad, InputGrads& grads) override { grads.set_range(0, range, grad); }
};

struct ConcatNode final : Node {
  int axis = 0;
  std::vector<std::int64_t> ends;  // of each part along `axis`

  const char* name() const override { return "concat"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); begin = ends[i++])
      grads.set(static_cast<int>(i), grad.slice(axis, begin, ends[i]));
  }
};

struct BroadcastNode final : Node {
  Shape x_shape;

  const char* name() const override { return "broadcast_to"; }
  void backward(const Tensor& grad, InputGrads& grads) override { set_summed(grads, 0, x_shape, grad); }
};

Shape concatenated_shape(const std::vector<Variable>& parts, int axis) {
  Shape shape = parts.front().shape();
  shape[axis] = 0;
  for (const Variable& part : parts) {
    require_alike("concat", parts.front().value(), part.value());
    Shape expected = parts.front().shape();
    if (part.rank() == expected.rank()) expected[axis] = part.size(axis);
    require(part.shape() == expected, "[concat] shapes ", parts.front().shape(), " and ", part.shape(),
            " differ in more than axis ", axis);
    shape[axis] += part.size(axis);
  }
  return shape;
}

}  // namespace

Variable reshape(const Variable& x, const Shape& shape) {
  if (shape == x.shape() && x.value().is_contiguous()) return x;
  const Tensor y = x.value().reshape(shape);
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<ReshapeNode>();
  node->x_shape = x.shape();
  return Node::record(std::move(node), {x}, y);
}

Variable steps_as_batch(const Variable& x) {
  require(x.rank() > 2, "[steps_as_batch] input must be (n, steps, ...) with at least 3 axes, got shape ",
          x.shape());
  const Shape shape = x.shape().steps_as_batch();
  Variable y = reshape(x, shape);
  for (const auto how : {Variable::State::Origin::softmax, Variable::State::Origin::sigmoid})
    if (const Variable input = Variable::State::input_of(x, how); input.defined())
      Variable::State::set_origin(y, how, {reshape(input, shape)});
  return y;
}

Variable permute(const Variable& x, const Shape& axes) {
  const Tensor y = x.value().permute(axes);
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<PermuteNode>();
  node->inverse = axes;
  for (int i = 0; i < axes.rank(); ++i) node->inverse[static_cast<int>(axes[i])] = i;
  return Node::record(std::move(node), {x}, y);
}

Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end) {
  const Tensor y = x.value().slice(axis, begin, end);
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<SliceNode>();
  node->range = {resolve_axis("slice", x.value(), axis), begin, end};
  return Node::record(std::move(node), {x}, y);
}

Variable concat(const std::vector<Variable>& parts, int axis) {
  require(!parts.empty(), "[concat] of no parts");
  const int along = resolve_axis("concat", parts.front().value(), axis);
  const Tensor y = Tensor::empty(concatenated_shape(parts, along), parts.front().value().options());
  auto node = std::make_shared<ConcatNode>();
  node->axis = along;
  std::int64_t begin = 0;
  for (const Variable& part : parts) {
    const std::int64_t end = begin + part.size(along);
    y.slice(along, begin, end).copy_from(part.value());
    node->ends.push_back(begin = end);
  }
  return Node::record(std::move(node), parts, y);
}

Variable stack(const std::vector<Variable>& parts, int axis) {
  require(!parts.empty(), "[stack] of no parts");
  const Shape& shape = parts.front().shape();
  const int axes = shape.rank() + 1;
  require(axis >= -axes && axis < axes, "[stack] axis ", axis, " of a result with ", axes, " axes");
  const int at = axis < 0 ? axis + axes : axis;
  Shape one;  // `shape` with the new axis
  for (int i = 0; i < axes; ++i) one.push_back(i == at ? 1 : shape[i < at ? i : i - 1]);
  std::vector<Variable> rows;
  for (const Variable& part : parts) {
    require(part.shape() == shape, "[stack] shapes ", shape, " and ", part.shape(), " differ");
    rows.push_back(reshape(part, one));
  }
  return concat(rows, at);
}

std::vector<Variable> split(const Variable& x, const std::vector<std::int64_t>& sizes, int axis) {
  const int along = resolve_axis("split", x.value(), axis);
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    require(size >= 0, "[split] sizes must not be negative, got ", size);
    total += size;
  }
  require(total == x.size(along), "[split] the sizes add up to ", total, ", but axis ", axis, " of shape ",
          x.shape(), " has ", x.size(along));
  std::vector<Variable> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(slice(x, along, begin, begin + size));
    begin += size;
  }
  return parts;
}

std::vector<Variable> unstack(const Variable& x, int axis) {
  const int along = resolve_axis("unstack", x.value(), axis);
  Shape shape;  // without the axis
  for (int i = 0; i < x.rank(); ++i)
    if (i != along) shape.push_back(x.size(i));
  std::vector<Variable> parts;
  for (std::int64_t i = 0; i < x.size(along); ++i) parts.push_back(reshape(slice(x, along, i, i + 1), shape));
  return parts;
}

Variable broadcast_to(const Variable& x, const Shape& shape) {
  const Tensor y = x.value().broadcast_to(shape);
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<BroadcastNode>();
  node->x_shape = x.shape();
  return Node::record(std::move(node), {x}, y);
}

}  // namespace ronde::inline v0
