#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

struct EmbeddingNode final : Node {
  Tensor indices;  // i32 (n)

  const char* name() const override { return "embedding"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    const Tensor& table = grads.out(0);
    table.fill(0.0);
    const Tensor rows = grad.contiguous().reshape({indices.count(), table.size(1)});
    table.backend().scatter_add_rows(table, rows, indices);
  }
};

}  // namespace

Variable embedding(const Variable& table, const Tensor& indices) {
  require_floating("embedding", table.value());
  require_rank("embedding", "table", table.value(), 2, "(rows, d)");
  require_indices("embedding", indices);
  const Tensor flat = indices_in_i32(indices).reshape({indices.count()});
  const Tensor rows = table.value().contiguous();
  Shape shape = indices.shape();
  shape.push_back(rows.size(1));
  const Tensor y = Tensor::empty(shape, rows.options());
  rows.backend().gather_rows(y.reshape({flat.count(), rows.size(1)}), rows, flat);
  if (!Node::needed({table})) return y;
  auto node = std::make_shared<EmbeddingNode>();
  node->indices = flat;
  return Node::record(std::move(node), {table}, y);
}

}  // namespace ronde::inline v0
