#include <ronde/core/picture_changes.h>

#include <algorithm>

#include <ronde/core/counted.h>

#include "pictures/change_picture.h"
#include "pictures/taps.h"

namespace ronde::inline v0 {

namespace {

using Kind = PictureStep::Kind;

PictureExtent extent_of(const Shape& shape) {
  if (shape.rank() == 3) return {shape[0], shape[1], shape[2]};
  const std::int64_t channels = shape.rank() > 0 ? shape.back() : 1;
  return {1, channels == 0 ? 0 : shape.count() / channels, channels};
}

/// A value for each channel; one serves all.
void spread(double* to, std::span<const double> values, std::int64_t channels) {
  require(values.size() == 1 || static_cast<std::int64_t>(values.size()) == channels,
          "[augmentation] normalize has ", counted(static_cast<std::int64_t>(values.size()), "value"),
          " for ", counted(channels, "channel"));
  for (std::int64_t c = 0; c < channels; ++c)
    to[c] = values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
}

void write_map(double* numbers, const AffineMap& map) {
  const double values[] = {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0};
  std::copy(std::begin(values), std::end(values), numbers);
}

}  // namespace

AffineMap operator*(const AffineMap& outer, const AffineMap& inner) {
  return {.xx = outer.xx * inner.xx + outer.xy * inner.yx,
          .xy = outer.xx * inner.xy + outer.xy * inner.yy,
          .x0 = outer.xx * inner.x0 + outer.xy * inner.y0 + outer.x0,
          .yx = outer.yx * inner.xx + outer.yy * inner.yx,
          .yy = outer.yx * inner.xy + outer.yy * inner.yy,
          .y0 = outer.yx * inner.x0 + outer.yy * inner.y0 + outer.y0};
}

void resample(const Tensor& out, const Tensor& in, const AffineMap& map, const Fill& fill) {
  require(in.rank() == 3 && in.shape() == out.shape() && in.dtype() == out.dtype(),
          "[resample] expects two pictures (h, w, c) of one shape and dtype, got ", to_string(in), " and ",
          to_string(out));
  visit_real(in.dtype(), "resample", [&]<class T>(T) {
    resample_picture(out.data<T>(), static_cast<const T*>(in.data<T>()), extent_of(in.shape()), map, fill);
  });
}

PictureChanges::PictureChanges(const Shape& shape) : shape_(shape) {}

void PictureChanges::clear() {
  steps_.clear();
  numbers_.clear();
  fill_is_open_ = false;
}

const Shape& PictureChanges::picture_shape() const {
  require(shape_.rank() == 3, "[augmentation] expects a picture (h, w, c), got ", shape_);
  return shape_;
}

double* PictureChanges::add(Kind kind, std::size_t numbers) {
  steps_.push_back({.kind = kind, .first = static_cast<std::int32_t>(numbers_.size())});
  numbers_.resize(numbers_.size() + numbers);
  fill_is_open_ = false;
  return numbers_.data() + steps_.back().first;
}

void PictureChanges::move(const AffineMap& map, const std::optional<Fill>& fill) {
  picture_shape();
  const bool follows = !steps_.empty() && steps_.back().kind == Kind::move;
  double* last = follows ? numbers_.data() + steps_.back().first : nullptr;
  const bool merges = follows && (!fill || fill_is_open_ ||
                                  *fill == Fill{.mode = steps_.back().fill, .value = fill_value_of(last)});
  const bool was_open = merges ? fill_is_open_ : true;
  if (merges) {
    write_map(last, map_of(last) * map);
  } else {
    last = add(Kind::move, kMoveNumbers);
    write_map(last, map);
  }
  if (fill && was_open) {
    steps_.back().fill = fill->mode;
    last[kMoveNumbers - 1] = fill->value;
  }
  fill_is_open_ = was_open && !fill;
}

void PictureChanges::multiply(double factor, double low, double high) {
  double* numbers = add(Kind::multiply, 3);
  numbers[0] = factor, numbers[1] = low, numbers[2] = high;
}

void PictureChanges::normalize(std::span<const double> mean, std::span<const double> factor) {
  const std::int64_t channels = extent_of(shape_).c;
  double* numbers = add(Kind::normalize, 2 * static_cast<std::size_t>(channels));
  spread(numbers, mean, channels);
  spread(numbers + channels, factor, channels);
}

void PictureChanges::cover(const Rectangle& part, double value) {
  const Shape& shape = picture_shape();
  const auto inside = [](std::int64_t i, std::int64_t size) {
    return static_cast<double>(std::clamp<std::int64_t>(i, 0, size));
  };
  double* numbers = add(Kind::cover, 5);
  numbers[0] = inside(part.top, shape[0]);
  numbers[1] = std::max(numbers[0], inside(part.bottom, shape[0]));
  numbers[2] = inside(part.left, shape[1]);
  numbers[3] = std::max(numbers[2], inside(part.right, shape[1]));
  numbers[4] = value;
}

void PictureChanges::apply(const Tensor& image) const {
  require(image.shape() == shape_, "[augmentation] expects a picture of shape ", shape_, ", got ",
          image.shape());
  visit_real(image.dtype(), "augmentation", [&]<class T>(T) {
    change_picture(image.data<T>(), extent_of(shape_), steps_, numbers_.data());
  });
}

std::optional<PictureSteps> PictureChanges::steps_of_kernel() const {
  const auto moves = std::count_if(steps_.begin(), steps_.end(),
                                   [](const PictureStep& step) { return step.kind == Kind::move; });
  if (moves > 1 || steps_.size() > PictureSteps::kMost) return std::nullopt;
  PictureSteps result{.count = static_cast<std::int32_t>(steps_.size()),
                      .numbers = static_cast<std::int32_t>(numbers_.size())};
  std::copy(steps_.begin(), steps_.end(), result.steps.begin());
  return result;
}

}  // namespace ronde::inline v0
