#include "layers/sequences.h"

#include <limits>

namespace ronde::inline v0 {

Variable as_row(const Module& layer, const Variable& sequences) {
  const Shape& shape = sequences.shape();
  require_sequences(layer, shape);
  return reshape(sequences, {shape[0], 1, shape[1], shape[2]});
}

Variable from_row(const Variable& row) {
  const Shape& shape = row.shape();
  return reshape(row, {shape[0], shape[2], shape[3]});
}

void require_sequences(const Module& layer, const Shape& shape) {
  require(shape.rank() == 3, "[", layer.label(), "] expects sequences (n, steps, features), got ", shape);
}

void require_window_fits(const Module& layer, std::int64_t steps, std::int64_t window) {
  require(window <= steps, "[", layer.label(), "] a window of ", window, " does not fit into sequences of ",
          steps);
}

void require_positive(const Module& layer, const char* what, std::int64_t extent) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  require<UsageError>(extent > 0 && extent <= kMost, "[", layer.label(), "] ", what, " must be in 1 ... ",
                      kMost, ", got ", extent);
}

}  // namespace ronde::inline v0
