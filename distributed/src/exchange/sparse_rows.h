/// Note [Sparse rows]: the gradient of a table of rows, such as an Embedding's, is zero in all rows that a
/// rank's batch did not use. Which these are is read from the gradient itself, so nothing has to be said by
/// layers, and a row used twice, in two pieces of a batch or in two batches, is there once. Ranks first tell
/// each other how many rows they have; then either rows and their numbers are gathered and every rank adds
/// them up in the order of the ranks, or, when that would be more than the table, the table is summed whole.
/// All ranks know the same counts, so they choose alike.
#pragma once

#include <ronde/core/tensor.h>

#include "exchange/wire.h"

namespace ronde::inline v0 {

/// In place: `table` (rows, d), f32 or f64, becomes the sum over the ranks; the same bits on all of them.
void sum_sparse_rows(const Tensor& table, Wire& wire);

}  // namespace ronde::inline v0
