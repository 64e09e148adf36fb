/// What Model::save may add to a file.
#pragma once

namespace ronde::inline v0 {

/// The optimizer's state where a Keras looks for it. Ronde's own copy, which every Ronde file of a compiled
/// model has, does not depend on this. A net with a MultiHeadAttention is described for Keras 3, or for that
/// of TensorFlow 2 where it is `tf2`: each refuses the other's, and its own is read here.
enum class KerasOptimizerState {
  none,
  tf2,     ///< for TensorFlow 2's Keras (up to 2.15); Keras 3 loads such an .h5, but cannot train it further
  keras3,  ///< for Keras 3, in a .keras file only: with an .h5, its own too, it makes an unusable optimizer
};

struct SaveOptions {
  KerasOptimizerState keras_optimizer_state = KerasOptimizerState::none;
};

}  // namespace ronde::inline v0
