/// What MaxPooling1D and AveragePooling1D are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

struct Pooling1DOptions {
  std::int64_t pool = 2;
  std::optional<std::int64_t> strides = {};  ///< defaults to the pool
  Padding padding = Padding::valid;
  std::string name = {};
};

}  // namespace ronde::inline v0
