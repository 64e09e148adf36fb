#include <algorithm>
#include <limits>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

void check_shapes(const Shape& x, const Tensor& indices) {
  require_indices("pick", indices);
  const Shape& shape = indices.shape();
  const int lead = x.rank() - 1;
  require(lead >= 0 && (shape.rank() == lead || shape.rank() == lead + 1) &&
              std::equal(x.begin(), x.end() - 1, shape.begin()),
          "[pick] x of shape ", x,
          " needs indices of that shape without its last axis, or with another extent "
          "of it, got ",
          shape);
  require(x.count() <= std::numeric_limits<std::int32_t>::max(), "[pick] x of shape ", x,
          " has more elements than an i32 counts");
}

/// A device checks what it reads itself, so that the host need not wait for it.
void check_indices(const Tensor& indices, std::int64_t extent) {
  if (indices.backend().device().type != DeviceType::cpu) return;
  const auto* index = indices.data<std::int32_t>();
  for (std::int64_t i = 0; i < indices.count(); ++i)
    require(index[i] >= 0 && index[i] < extent, "[pick] index ", index[i], " at position ", i,
            ", expected 0 to ", extent - 1);
}

/// first, first + step, first + 2 step, ... f64 (count), made on the backend: a copy from the host could be
/// no part of a step that a GPU repeats. Each kernel doubles what is there.
Tensor progression(double first, double step, std::int64_t count, Backend& backend) {
  const Tensor all = Tensor::empty({count}, {.dtype = DType::f64, .backend = &backend});
  if (count > 0) all.slice(0, 0, 1).fill(first);
  for (std::int64_t done = 1; done < count; done *= 2) {
    const std::int64_t end = std::min(2 * done, count);
    backend.unary(UnaryOp::affine, all.slice(0, done, end), all.slice(0, 0, end - done),
                  {.alpha = 1.0, .beta = static_cast<double>(done) * step});
  }
  return all;
}

/// Where the elements lie in all rows together, one behind the other: in row r at r * extent + index; -1,
/// which is no place, for an index outside of its row. By f64, in which each i32 is exact. i32 (rows, m).
Tensor places_of(const Tensor& indices, std::int64_t extent) {
  Backend& backend = indices.backend();
  const std::int64_t rows = indices.size(0);
  const Tensor index = indices.to(DType::f64), place = Tensor::empty_like(index),
               is_inside = Tensor::empty_like(index);
  backend.unary(UnaryOp::clamp, is_inside, index, {0.0, static_cast<double>(extent - 1)});
  backend.binary(BinaryOp::equal, is_inside, is_inside, index);
  const Tensor begin = progression(1.0, static_cast<double>(extent), rows, backend).reshape({rows, 1});
  backend.binary(BinaryOp::add, place, index, begin.broadcast_to(index.shape()));
  backend.binary(BinaryOp::multiply, place, place, is_inside);
  backend.unary(UnaryOp::affine, place, place, {.alpha = 1.0, .beta = -1.0});
  return place.to(DType::i32);
}

}  // namespace

// As rows of a table whose rows have one element.
Variable pick(const Variable& x, const Tensor& indices) {
  require_floating("pick", x.value());
  check_shapes(x.shape(), indices);
  const std::int64_t extent = x.shape().back();
  const bool is_one = indices.rank() < x.rank();
  const std::int64_t per_row = is_one ? 1 : indices.shape().back();
  const std::int64_t rows = per_row == 0 ? 0 : indices.count() / per_row;
  const Tensor narrow = indices_in_i32(indices).reshape({rows, per_row});
  check_indices(narrow, extent);
  const Variable table = reshape(x, {x.shape().count(), 1});
  return reshape(embedding(table, places_of(narrow, extent)), indices.shape());
}

}  // namespace ronde::inline v0
