#include "export/flattened_images.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/reshape.h>
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
  return image.rank() == 3 && image[2] > 1 && image[0] * image[1] > 1;
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
  if (layer.class_name() == "Flatten") return order_matters(image);
  const auto* reshape = dynamic_cast<const Reshape*>(&layer);
  if (reshape == nullptr && dynamic_cast<const Permute*>(&layer) == nullptr) return false;
  const Shape result = reshape ? reshape->shape_for(layer.input_shape()) : layer.output_shape().tail(1);
  if (result.rank() == 1) return order_matters(image);
  require(!order_matters(image) && !order_matters(result), "[weights] layer ", layer.label(), " makes ",
          result, " of ", layer.input_shape(), ", for which PyTorch has another order");
  return false;
}

}  // namespace

FlattenedImages find_flattened_images(const Module& net) {
  const LayerCalls calls = layer_calls(net);
  FlattenedImages found;
  struct Value {
    Shape flattened = {};  // the image whose pixels it has, or nothing
    bool is_series = false;
  };
  std::vector<Value> values(calls.inputs.size());
  for (const LayerCall& call : calls.calls) {
    const auto [image, takes_series] = values.at(call.inputs.front());
    const Shape taken = image_of(call.layer->input_shape(), takes_series);
    require(!has_weights_of_pixels(*call.layer, taken), "[weights] layer ", call.layer->label(),
            " has weights for the places in an image, for which PyTorch has another order");
    for (const std::size_t input : call.inputs)
      require(
          values.at(input).flattened == image, "[weights] layer ", call.layer->label(),
          " joins the pixels of a flattened image with other values, for which PyTorch has another order");
    const std::string class_name = call.layer->class_name();
    const bool is_flat = image.rank() != 0;
    require(!is_flat || class_name == "Dense" || class_name == "Flatten" || keeps_order(*call.layer),
            "[weights] layer ", call.layer->label(), " (", class_name,
            ") takes the pixels of a flattened image, for which PyTorch has another order");
    if (is_flat) found.emplace(call.layer->path(), image);
    if (flattens_image(*call.layer, taken))
      values.push_back({taken});
    else
      values.push_back({class_name == "Dense" ? Shape() : image, gives_series(*call.layer, takes_series)});
  }
  return found;
}

}  // namespace ronde::inline v0
