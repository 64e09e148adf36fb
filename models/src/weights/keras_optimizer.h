/// An optimizer's state <-> Keras' own list of it, whose meaning lies in the order alone.
///
/// Note [Keras' optimizer weights]: first the number of updates, in Keras 3 then the learning rate, unless a
/// schedule gives it, then the slots. With the optimizers of Keras up to 2.10 ("legacy" since then) one slot
/// follows the other: m of all weights, then v of all weights. Later ones go weight by weight where a slot is
/// a pair, m and v of Adam, both sums of Adadelta; other slots (Adam's largest v, RMSprop's) still follow one
/// another. Weights come in the order of Keras' model.trainable_weights.
#pragma once

#include <optional>

#include <ronde/models/save_options.h>
#include <ronde/models/saved_model.h>
#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

/// For a file of this layout; empty for KerasOptimizerState::none.
std::vector<SavedWeight> save_keras_optimizer(const Optimizer& optimizer,
                                              const std::vector<OptimizerSlot>& slots, const Module& module,
                                              KerasOptimizerState state, SavedLayout layout);

/// The state that a file holds for this optimizer: Ronde's own, else Keras' if it fits. Nothing when there is
/// none, or it is that of another kind of optimizer; as in Keras, the optimizer is a new one then.
std::optional<SavedOptimizer> find_saved_optimizer(const SavedModel& file, const Optimizer& optimizer,
                                                   const Module& module);

}  // namespace ronde::inline v0
