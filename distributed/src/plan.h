/// The plan of a distributed training: what must be equal on all ranks before the first step.
#pragma once

#include <ronde/distributed/communicator.h>
#include <ronde/distributed/gradient_buckets.h>
#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

/// Compares names, shapes, dtype, frozen flags, buckets, how gradients are exchanged and the optimizer (all
/// but its learning rate, which rank 0 decides). A difference is a CollectiveError that names the first thing
/// that differs and the ranks. Collective.
void compare_plans(const ParameterArena& arena, const Optimizer& optimizer, const DistributedOptions& options,
                   Communicator& communicator);

/// Compares names, shapes, dtype and frozen flags only: nets of equal size may still be different ones.
/// `who` begins the error. Collective.
void compare_layouts(const ParameterArena& arena, const std::string& who, Communicator& communicator);

}  // namespace ronde::inline v0
