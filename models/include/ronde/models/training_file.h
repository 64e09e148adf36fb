/// A training by a loop of one's own in a file, to go on with: weights, moving statistics, and the
/// optimizer's whole state with its learning rate and its count of updates. (A `Model` has `save` and
/// `load`.)
///
///     save_training("run.safetensors", net, optimizer);
///
///     net.build(...);                                   // in another process, with any number of ranks:
///     optimizer.attach(arena);
///     load_training("run.safetensors", net, optimizer);
///     loader.start(optimizer.optimizer().iterations(), ...);
///
/// The file is one of safetensors: weights by Keras' names, which `assign_named_weights` of a net takes once
/// those that begin with "optimizer:" are left out, and "optimizer:<slot>:<weight>", "optimizer:iterations"
/// and "optimizer:learning_rate". A SHA-256 of it is checked. What is not in it: options, schedules, and what
/// a compression of gradients has left over.
#pragma once

#include <string>

#include <ronde/distributed/distributed_optimizer.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Collective, `optimizer` being attached to an arena of `net`; moving statistics become those of all ranks
/// (average_buffers), as do weights and state after local steps. Rank 0 replaces the file atomically. IoError
/// on all ranks.
RONDE_API void save_training(const std::string& path, const Module& net, DistributedOptimizer& optimizer);
/// Collective. Rank 0 reads, all get it; nothing is changed before all has been compared. An error on all
/// ranks, with the path, for a file that cannot be read, is damaged, or is of another net or optimizer.
RONDE_API void load_training(const std::string& path, Module& net, DistributedOptimizer& optimizer);

}  // namespace ronde::inline v0
