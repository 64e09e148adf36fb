/// Schedules as Keras' files describe them: the rates themselves there, shares of the optimizer's rate here.
#pragma once

#include <memory>

#include <ronde/nn/schedule.h>

namespace ronde::inline v0 {

/// The schedule of a Keras optimizer: rate * shape(updates), where the shape begins or peaks at 1.
struct ReadSchedule {
  double rate = 0.0;
  std::shared_ptr<const LearningRateSchedule> shape;
};

/// Of {"class_name": "CosineDecay", "config": {...}}: any of Keras' own. An InputError says what is not
/// known.
ReadSchedule read_schedule(const ConfigValue& described);

/// The way back, in the form that all versions of Keras take; null for a schedule that Keras does not have.
ConfigValue keras_schedule(const LearningRateSchedule& schedule, double rate);
/// The object that has this class and these settings there.
ConfigValue keras_schedule(const char* class_name, ConfigDict settings);

}  // namespace ronde::inline v0
