#include "module/unit_length.h"

#include <limits>

#include "module/precise.h"

namespace ronde::inline v0 {

Variable unit_length(const Variable& x, const Shape& axes) {
  const Variable vectors = precise(x);
  const Variable squares = sum(square(vectors), {.axes = axes, .keep_dims = true});
  return cast(vectors / sqrt(clamp(squares, 1e-12, std::numeric_limits<double>::infinity())), x.dtype());
}

}  // namespace ronde::inline v0
