#include "tensorboard/events.h"

namespace ronde::inline v0 {

// Fields are numbered as in TensorFlow's .proto files, and written in the order of their numbers.
namespace {

ProtobufWriter event(EventTime time) {
  ProtobufWriter event;
  event.wide_real(1, time.wall_time);
  if (time.step != 0) event.integer(2, time.step);  // 0 is what a missing field means
  return event;
}

/// SummaryMetadata: which of TensorBoard's plugins shows the value.
ProtobufWriter metadata(const std::string& plugin, const std::string& content = {}) {
  ProtobufWriter data, metadata;
  data.text(1, plugin);
  if (!content.empty()) data.text(2, content);
  metadata.message(1, data);
  return metadata;
}

/// TensorProto of one string.
ProtobufWriter string_tensor(const ProtobufWriter& shape, const std::string& text) {
  constexpr std::int64_t kString = 7;  // DataType.DT_STRING
  ProtobufWriter tensor;
  tensor.integer(1, kString);
  tensor.message(2, shape);
  tensor.text(8, text);
  return tensor;
}

}  // namespace

std::string file_version_event(double wall_time) {
  ProtobufWriter version = event({.wall_time = wall_time});
  version.text(3, "brain.Event:2");
  return version.bytes();
}

std::string restart_event(EventTime time) {
  constexpr std::int64_t kStart = 1;  // SessionLog.SessionStatus.START
  ProtobufWriter log, restart = event(time);
  log.integer(1, kStart);
  restart.message(7, log);
  return restart.bytes();
}

std::string summary_event(EventTime time, const ProtobufWriter& value) {
  ProtobufWriter summary, result = event(time);
  summary.message(1, value);
  result.message(5, summary);
  return result.bytes();
}

ProtobufWriter scalar_value(const std::string& tag, double value) {
  ProtobufWriter result;
  result.text(1, tag);
  result.real(2, static_cast<float>(value));
  return result;
}

ProtobufWriter histogram_value(const std::string& tag, const Histogram& histogram) {
  ProtobufWriter proto, result;
  proto.wide_real(1, histogram.min);
  proto.wide_real(2, histogram.max);
  proto.wide_real(3, histogram.count);
  proto.wide_real(4, histogram.sum);
  proto.wide_real(5, histogram.sum_of_squares);
  proto.wide_reals(6, histogram.right_edges);
  proto.wide_reals(7, histogram.counts);
  result.text(1, tag);
  result.message(5, proto);
  return result;
}

ProtobufWriter image_value(const std::string& tag, const Shape& shape, const std::string& png) {
  ProtobufWriter image, result;
  image.integer(1, shape[0]);
  image.integer(2, shape[1]);
  image.integer(3, shape[2]);  // colour space: 1 grey, 3 RGB
  image.text(4, png);
  result.text(1, tag);
  result.message(4, image);
  return result;
}

ProtobufWriter text_value(const std::string& tag, const std::string& markdown) {
  ProtobufWriter one, shape, result;
  one.integer(1, 1);
  shape.message(2, one);  // (1)
  result.text(1, tag);
  result.message(8, string_tensor(shape, markdown));
  result.message(9, metadata("text"));
  return result;
}

ProtobufWriter keras_model_value(const std::string& tag, const std::string& json) {
  ProtobufWriter result;
  result.text(1, tag);
  result.message(8, string_tensor({}, json));
  result.message(9, metadata("graph_keras_model", "1"));
  return result;
}

}  // namespace ronde::inline v0
