/// The messages in TensorBoard's event files (event.proto, summary.proto), encoded by hand.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/shape.h>

#include "files/protobuf.h"
#include "tensorboard/histogram.h"

namespace ronde::inline v0 {

/// Seconds since 1970, and the step.
struct EventTime {
  double wall_time = 0.0;
  std::int64_t step = 0;
};

/// Every file begins with it.
std::string file_version_event(double wall_time);
/// Steps from this one on begin anew.
std::string restart_event(EventTime time);
/// `value`: one of those below.
std::string summary_event(EventTime time, const ProtobufWriter& value);

ProtobufWriter scalar_value(const std::string& tag, double value);
ProtobufWriter histogram_value(const std::string& tag, const Histogram& histogram);
/// `shape` (h, w, c) of the picture that the bytes of a PNG file hold.
ProtobufWriter image_value(const std::string& tag, const Shape& shape, const std::string& png);
/// Markdown, for the Text tab.
ProtobufWriter text_value(const std::string& tag, const std::string& markdown);
/// JSON of a Keras model, for the Graphs tab.
ProtobufWriter keras_model_value(const std::string& tag, const std::string& json);

}  // namespace ronde::inline v0
