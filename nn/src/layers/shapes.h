/// Shapes made of others.
#pragma once

#include <ronde/core/shape.h>

namespace ronde::inline v0 {

/// `more` behind `shape`.
inline Shape behind(Shape shape, const Shape& more) {
  for (const std::int64_t extent : more) shape.push_back(extent);
  return shape;
}

}  // namespace ronde::inline v0
