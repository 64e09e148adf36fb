/// What MaxPooling2D and AveragePooling2D are made of.
#pragma once

#include <optional>
#include <string>

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

struct Pooling2DOptions {
  Size2d pool{2, 2};
  std::optional<Size2d> strides = {};  ///< defaults to the pool
  Padding padding = Padding::valid;
  std::string name = {};
};

}  // namespace ronde::inline v0
