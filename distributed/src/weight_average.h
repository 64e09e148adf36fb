#pragma once

#include <vector>

#include "exchange/wire.h"

namespace ronde::inline v0 {

/// In place: each of the flat tensors, of one floating dtype, becomes its average over the ranks, weighted by
/// `weight`; all ranks get the same bits. With no weight anywhere nothing changes, nor does a
/// tensor whose sum fails. Collective.
void average_over_ranks(Communicator& communicator, const std::vector<Tensor>& tensors, double weight,
                        std::atomic<std::int64_t>& bytes);

}  // namespace ronde::inline v0
