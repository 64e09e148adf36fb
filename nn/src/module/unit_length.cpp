#include "module/unit_length.h"

#include <limits>

namespace ronde::inline v0 {

Variable unit_length(const Variable& x, const Shape& axes) {
  const Variable squares = sum(square(x), {.axes = axes, .keep_dims = true});
  return x / sqrt(clamp(squares, 1e-12, std::numeric_limits<double>::infinity()));
}

}  // namespace ronde::inline v0
