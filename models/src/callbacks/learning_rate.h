/// What the callbacks that change the learning rate share.
#pragma once

#include <ronde/models/model.h>

namespace ronde::inline v0 {

/// The key under which they log it, as Keras 3 does (Keras 2: "lr").
inline constexpr const char* kLearningRateKey = "learning_rate";

/// Adds the rate that the optimizer has now, its schedule and decay included: what Keras' `learning_rate` is.
void log_learning_rate(Logs& logs, const Optimizer& optimizer);

/// Sets the rate, the same on all ranks. With momentum correction the next step's momentum is scaled by
/// new / old, because a velocity holds the rate its gradients came with.
void change_learning_rate(Optimizer& optimizer, double rate, bool momentum_correction);

}  // namespace ronde::inline v0
