/// What the regularizers of a net's weights add to its loss: Keras' sum(model.losses).
///
/// `Model` does all of this. In a loop of one's own an optimizer adds the gradients of the penalties to those
/// of the loss, after the average over the ranks, so that the loss one calls `backward` on is that of the
/// samples alone; only who reports the loss adds the penalties:
///
///     loss.backward();                                        // mean loss of the samples
///     const double reported = loss.item() + regularization_loss(net).item();
///     optimizer.step();
#pragma once

#include <ronde/nn/parameter_arena.h>

namespace ronde::inline v0 {

/// The penalties of all weights that are trained: an f64 scalar on their backend, 0 where none has one. It
/// has no gradient: `Optimizer::step` adds that.
RONDE_API Tensor regularization_loss(const Module& net);
/// Adds the same to `total`, an f64 scalar on the arena's backend. Enqueues only.
RONDE_API void add_regularization_loss(const Tensor& total, const ParameterArena& arena);

}  // namespace ronde::inline v0
