#include <ronde/core/ops.h>

#include "autograd/variable_state.h"

namespace ronde::inline v0 {
namespace {

/// Whether `parts` are of these shapes, without the batch.
bool have_shapes(const std::vector<Variable>& parts, const std::vector<Shape>& shapes) {
  if (parts.size() != shapes.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].shape().tail(1) != shapes[i]) return false;
  return true;
}

}  // namespace

Variable join_rows(const std::vector<Variable>& parts) {
  std::vector<Variable> rows;
  for (const Variable& part : parts) {
    require(part.rank() > 0, "[join_rows] a scalar has no samples");
    rows.push_back(reshape(part, {part.size(0), part.shape().tail(1).count()}));
  }
  Variable joined = concat(rows, 1);
  Variable::State::set_origin(joined, Variable::State::Origin::rows, parts);
  return joined;
}

std::vector<Variable> split_rows(const Variable& rows, const std::vector<Shape>& shapes) {
  std::vector<Variable> parts = Variable::State::origin(rows, Variable::State::Origin::rows);
  if (have_shapes(parts, shapes)) return parts;
  std::int64_t total = 0;
  for (const Shape& shape : shapes) total += shape.count();
  require(rows.rank() == 2 && rows.size(1) == total, "[split_rows] expected rows (n, ", total, "), got ",
          rows.shape());
  parts.clear();
  std::int64_t begin = 0;
  for (const Shape& shape : shapes) {
    const std::int64_t end = begin + shape.count();
    parts.push_back(reshape(slice(rows, 1, begin, end), shape.batch_of(rows.size(0))));
    begin = end;
  }
  return parts;
}

}  // namespace ronde::inline v0
