#include <ronde/core/ops.h>

#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/window.h"

namespace ronde::inline v0 {
namespace {

// Where the images lie in the larger ones.
Tensor inside(const Tensor& padded, const Margins2d& margins) {
  return padded.slice(1, margins.top, padded.size(1) - margins.bottom)
      .slice(2, margins.left, padded.size(2) - margins.right);
}

void fill_margins(const Tensor& padded, const Margins2d& margins) {
  const auto fill = [](const Tensor& margin) {
    if (margin.count() > 0) margin.fill(0.0);
  };
  const std::int64_t bottom = padded.size(1) - margins.bottom, right = padded.size(2) - margins.right;
  fill(padded.slice(1, 0, margins.top));
  fill(padded.slice(1, bottom, padded.size(1)));
  const Tensor rows = padded.slice(1, margins.top, bottom);
  fill(rows.slice(2, 0, margins.left));
  fill(rows.slice(2, right, padded.size(2)));
}

struct ZeroPadNode final : Node {
  Margins2d margins;

  const char* name() const override { return "zero_pad2d"; }
  void backward(const Tensor& grad, InputGrads& grads) override { grads.set(0, inside(grad, margins)); }
};

}  // namespace

Variable zero_pad2d(const Variable& x, Margins2d margins) {
  require_rank("zero_pad2d", "input", x.value(), 4, "(n, h, w, c)");
  require_margins("zero_pad2d", margins);
  const Shape shape{x.size(0), x.size(1) + margins.top + margins.bottom,
                    x.size(2) + margins.left + margins.right, x.size(3)};
  const Tensor y = Tensor::empty(shape, x.value().options());
  fill_margins(y, margins);
  inside(y, margins).copy_from(x.value());
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<ZeroPadNode>();
  node->margins = margins;
  return Node::record(std::move(node), {x}, y);
}

}  // namespace ronde::inline v0
