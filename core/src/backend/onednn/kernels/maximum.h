/// The maximum of a pooling's window, and where it is.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// The first maximum wins, and a NaN beats everything but a NaN.
struct Maximum {
  Vector value;
  IntVector index{};

  explicit Maximum(Vector first) : value(first) {}
  [[gnu::always_inline]] inline void take(Vector v, std::int32_t k) {
    const IntVector wins = ~(v <= value) & (value == value);
    value = select(wins, v, value);
    index = (wins & k) | (~wins & index);
  }
};

}  // namespace
}  // namespace ronde::inline v0
