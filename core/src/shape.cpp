#include <ronde/core/shape.h>

#include <algorithm>

namespace ronde::inline v0 {

Shape::Shape(std::span<const std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  require(extents.size() <= kMaxRank, "[shape] at most ", kMaxRank, " axes, got ", extents.size());
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

std::int64_t Shape::count() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : *this)
    if (__builtin_mul_overflow(n, extent, &n)) [[unlikely]]
      throw Error(cat("[shape] ", *this, " has more elements than can be counted"));
  return n;
}

void Shape::push_back(std::int64_t extent) {
  require(rank_ < kMaxRank, "[shape] at most ", kMaxRank, " axes");
  extents_[static_cast<std::size_t>(rank_++)] = extent;
}

Shape Shape::with_batch(std::int64_t n) const {
  require(rank_ > 0, "[shape] a scalar has no batch axis");
  Shape shape = *this;
  shape[0] = n;
  return shape;
}

Shape Shape::batch_of(std::int64_t n) const {
  Shape shape{n};
  for (const std::int64_t extent : *this) shape.push_back(extent);
  return shape;
}

Shape Shape::steps_as_batch() const {
  return tail(2).batch_of((*this)[0] * (*this)[1]);
}

Shape Shape::tail(int from) const {
  if (from == rank_) return {};
  return Shape(std::span(begin() + wrap(from), end()));
}

void Shape::refuse(int axis) const {
  throw Error(cat("[shape] there is no axis ", axis, " in ", *this));
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.rank() == 1 ? ",)" : ")");
}

Shape row_major_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Shape result = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  const int lead = result.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    std::int64_t& extent = result[lead + i];
    if (extent == 1) extent = shorter[i];
    require(shorter[i] == 1 || shorter[i] == extent, "[broadcast] shapes ", a, " and ", b, " do not fit");
  }
  return result;
}

}  // namespace ronde::inline v0
