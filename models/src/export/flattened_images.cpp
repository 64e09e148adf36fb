#include "export/flattened_images.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/time_distributed.h>
#include <ronde/nn/training_only.h>

#include "export/layer_calls.h"

namespace ronde::inline v0 {

namespace {

using Names = std::span<const std::string_view>;

bool is_one_of(const Module& layer, Names names) {
  return std::find(names.begin(), names.end(), layer.class_name()) != names.end();
}

/// What they give has the order of what they take.
bool keeps_order(const Module& layer) {
  static constexpr std::string_view kNames[]{"ELU",
                                             "LayerNormalization",
                                             "LeakyReLU",
                                             "PReLU",
                                             "RMSNormalization",
                                             "ReLU",
                                             "Softmax",
                                             "Activation",
                                             "Add",
                                             "Average",
                                             "Dropout",
                                             "Maximum",
                                             "Minimum",
                                             "Multiply",
                                             "Subtract",
                                             "UnitNormalization",
                                             "BatchNormalization"};
  return dynamic_cast<const TrainingOnly*>(&layer) != nullptr || is_one_of(layer, kNames);
}

/// Whether it gives sequences that PyTorch has as (n, channels, steps); those of an Embedding are (n, steps,
/// channels) there, too.
bool gives_series(const Module& layer, bool takes_series) {
  static constexpr std::string_view kNames[]{"AveragePooling1D", "Conv1D",          "Conv1DTranspose",
                                             "Cropping1D",       "DepthwiseConv1D", "MaxPooling1D",
                                             "SeparableConv1D",  "UpSampling1D",    "ZeroPadding1D"};
  return is_one_of(layer, kNames) ||
         (takes_series && (keeps_order(layer) || layer.class_name() == "Concatenate" ||
                           layer.class_name() == "GroupNormalization"));
}

/// What a layer takes as an image, where a sequence of PyTorch's order is one row.
Shape image_of(const Shape& input, bool is_series) {
  return is_series && input.rank() == 2 ? Shape{1, input[0], input[1]} : input;
}

bool order_matters(const Shape& image) {
  return image.rank() > 2 && image.back() > 1 && image.count() > image.back();
}

/// Whether each weight belongs to a place in an image, of which PyTorch has another order or, of a PReLU, no
/// weight.
bool has_weights_of_pixels(const Module& layer, const Shape& image) {
  if (layer.class_name() == "PReLU") {
    const Shape alpha = layer.parameters().front().variable.shape();
    return alpha.count() != alpha.back();
  }
  const auto* norm = dynamic_cast<const LayerNormalization*>(&layer);
  return norm != nullptr && norm->options().axes.size() > 1 && order_matters(image);
}

/// Flattening is one thing that a Reshape can do. An error for what it, or a Permute, can do else to images:
/// in PyTorch the weights around it would have another order.
bool flattens_image(const Module& layer, const Shape& image) {
  const auto* reshape = dynamic_cast<const Reshape*>(&layer);
  const bool reorders = reshape != nullptr || dynamic_cast<const Permute*>(&layer) != nullptr;
  if (!reorders && layer.class_name() != "Flatten") return false;
  const Shape result = reshape ? reshape->shape_for(layer.input_shape()) : layer.output_shape().tail(1);
  if (result.rank() == 1 && image.rank() < 4) return order_matters(image);
  require(!order_matters(image) && !order_matters(result), "[weights] layer ", layer.label(), " makes ",
          result, " of ", layer.input_shape(), ", for which PyTorch has another order");
  return false;
}

/// What a net takes or a layer gives.
struct Value {
  Shape flattened = {};  // the image whose pixels it has, or nothing
  bool is_series = false;
  bool is_input = false;     // of the net, or of an Embedding: it has PyTorch's order
  bool is_of_steps = false;  // of a TimeDistributed; the above is said of each step
};

Value follow(const Module& net, const Value& input, FlattenedImages& found);

/// Each step is a sample to its layer.
Value follow_steps(const TimeDistributed& layer, const Value& taken, FlattenedImages& found) {
  const bool is_known = taken.is_of_steps || taken.is_input || layer.input_shape().rank() < 3;
  require<UsageError>(is_known, "[weights] layer ", layer.label(), " takes ", layer.input_shape(),
                      " as steps, for which PyTorch has another order: use WeightNames::keras");
  const bool is_series = taken.is_of_steps && taken.is_series;
  const Value given = follow(layer.layer(), {taken.flattened, is_series, taken.is_input}, found);
  require<UsageError>(!given.is_of_steps, "[weights] layer ", layer.label(),
                      " gives images, sequences or their pixels of steps of steps, for which PyTorch has "
                      "another order: use WeightNames::keras");
  const bool has_order = layer.output_shape().rank() > 3 || given.flattened.rank() != 0;
  const bool stays_series = taken.is_series && !taken.is_of_steps && keeps_order(layer.layer());
  return {given.flattened, given.is_series || stays_series, false, has_order};
}

/// Whether a layer between two TimeDistributed, or before one, does to each number the same.
bool hands_on(const LayerCall& call) {
  static constexpr std::string_view kNames[]{"Masking", "Rescaling"};
  return call.inputs.size() == 1 && call.layer->parameters().empty() &&
         (keeps_order(*call.layer) || is_one_of(*call.layer, kNames));
}

Value follow_call(const LayerCall& call, const std::vector<Value>& values, FlattenedImages& found) {
  const Module& layer = *call.layer;
  const Value& value = values.at(call.inputs.front());
  const auto* distributed = dynamic_cast<const TimeDistributed*>(&layer);
  if (distributed != nullptr && (value.is_of_steps || value.flattened.rank() == 0))
    return follow_steps(*distributed, value, found);
  if ((value.is_of_steps || value.is_input) && hands_on(call)) return value;
  const Shape& image = value.flattened;
  const Shape taken = image_of(layer.input_shape(), value.is_series);
  require(!has_weights_of_pixels(layer, taken), "[weights] layer ", layer.label(),
          " has weights for the places in an image, for which PyTorch has another order");
  for (const std::size_t input : call.inputs) {
    require<UsageError>(!values.at(input).is_of_steps, "[weights] layer ", layer.label(),
                        " takes images, sequences or their pixels of the steps of a TimeDistributed, for "
                        "which PyTorch has another order: put it into a TimeDistributed too, or use "
                        "WeightNames::keras");
    require(values.at(input).flattened == image, "[weights] layer ", layer.label(),
            " joins the pixels of a flattened image with other values, for which PyTorch has another order");
  }
  const std::string class_name = layer.class_name();
  const bool is_flat = image.rank() != 0;
  require(!is_flat || class_name == "Dense" || class_name == "Flatten" || keeps_order(layer),
          "[weights] layer ", layer.label(), " (", class_name,
          ") takes the pixels of a flattened image, for which PyTorch has another order");
  if (is_flat) found.emplace(layer.path(), image);
  if (flattens_image(layer, taken)) return {taken};
  return {class_name == "Dense" ? Shape() : image, gives_series(layer, value.is_series),
          class_name == "Embedding"};
}

/// Adds to `found` what the net's layers work on, and returns what it gives.
Value follow(const Module& net, const Value& input, FlattenedImages& found) {
  const LayerCalls calls = layer_calls(net);
  std::vector<Value> values(calls.inputs.size(), input);
  for (const LayerCall& call : calls.calls) values.push_back(follow_call(call, values, found));
  return values.at(calls.output_values.front());
}

}  // namespace

FlattenedImages find_flattened_images(const Module& net) {
  FlattenedImages found;
  follow(net, {.is_input = true}, found);
  return found;
}

}  // namespace ronde::inline v0
