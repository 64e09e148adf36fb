/// Optimizers from their Keras configs.
#pragma once

#include <memory>
#include <string>

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

/// The optimizer that a file of Keras 2 or 3 describes: SGD, RMSprop, Adam, AdamW, Adadelta, Adagrad,
/// Adamax, Nadam, in any case, "Custom>X" too; `lr` is learning_rate, any of Keras' learning-rate schedules a
/// `schedule`, InverseTimeDecay a rate with decay, and use_ema a moving average. Unknown keys are ignored. An
/// InputError names an unknown class or a value Ronde cannot use (a schedule of one's own, weight decay other
/// than AdamW's and SGD's).
RONDE_API std::unique_ptr<Optimizer> optimizer_from_config(const std::string& class_name,
                                                           const ConfigValue& config);

}  // namespace ronde::inline v0
