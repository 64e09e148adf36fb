/// Sequences (n, steps, c) as the operations on images have them: as pictures of one row.
#pragma once

#include <cstdint>

#include <ronde/core/ops.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// (n, steps, c) -> (n, 1, steps, c), a view; an error that names the layer for anything else.
Variable as_row(const Module& layer, const Variable& sequences);
/// (n, 1, steps, c) -> (n, steps, c), a view.
Variable from_row(const Variable& row);

/// `shape` is (n, steps, c).
void require_sequences(const Module& layer, const Shape& shape);
/// The window lies inside `steps` at least once.
void require_window_fits(const Module& layer, std::int64_t steps, std::int64_t window);
/// A positive extent of which no product of two overflows.
void require_positive(const Module& layer, const char* what, std::int64_t extent);

}  // namespace ronde::inline v0
