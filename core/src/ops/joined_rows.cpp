#include <numeric>

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
  std::vector<std::int64_t> sizes;
  for (const Shape& shape : shapes) sizes.push_back(shape.count());
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  require(rows.rank() == 2 && rows.size(1) == total, "[split_rows] expected rows (n, ", total, "), got ",
          rows.shape());
  parts = split(rows, sizes, 1);
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = reshape(parts[i], shapes[i].batch_of(rows.size(0)));
  return parts;
}

}  // namespace ronde::inline v0
