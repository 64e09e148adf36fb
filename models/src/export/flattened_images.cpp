#include "export/flattened_images.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/training_only.h>

#include "export/layer_calls.h"

namespace ronde::inline v0 {

namespace {

/// What they give has the order of what they take.
bool keeps_order(const Module& layer) {
  static constexpr std::array<std::string_view, 13> kNames{"LayerNormalization",
                                                           "LeakyReLU",
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
                                                           "BatchNormalization"};
  return dynamic_cast<const TrainingOnly*>(&layer) != nullptr ||
         std::find(kNames.begin(), kNames.end(), layer.class_name()) != kNames.end();
}

bool order_matters(const Shape& image) {
  return image.rank() == 3 && image[2] > 1 && image[0] * image[1] > 1;
}

/// Whether each weight belongs to a place in an image, of which PyTorch has another order.
bool has_weights_of_pixels(const Module& layer) {
  const auto* norm = dynamic_cast<const LayerNormalization*>(&layer);
  return norm != nullptr && norm->options().axes.size() > 1 && order_matters(layer.input_shape());
}

/// Flattening is one thing that a Reshape can do. An error for what it can do else to images: in PyTorch the
/// weights around it would have another order.
bool flattens_image(const Module& layer) {
  const Shape& input = layer.input_shape();
  if (layer.class_name() == "Flatten") return order_matters(input);
  const auto* reshape = dynamic_cast<const Reshape*>(&layer);
  if (reshape == nullptr) return false;
  const Shape result = reshape->shape_for(input);
  if (result.rank() == 1) return order_matters(input);
  require(!order_matters(input) && !order_matters(result), "[weights] layer ", layer.label(), " makes ",
          result, " of ", input, ", for which PyTorch has another order");
  return false;
}

}  // namespace

FlattenedImages find_flattened_images(const Module& net) {
  const LayerCalls calls = layer_calls(net);
  FlattenedImages found;
  std::vector<Shape> values(calls.inputs.size());  // for each value the image whose pixels it has, or nothing
  for (const LayerCall& call : calls.calls) {
    require(!has_weights_of_pixels(*call.layer), "[weights] layer ", call.layer->label(),
            " has weights for the places in an image, for which PyTorch has another order");
    const Shape image = values.at(call.inputs.front());
    for (const std::size_t input : call.inputs)
      require(
          values.at(input) == image, "[weights] layer ", call.layer->label(),
          " joins the pixels of a flattened image with other values, for which PyTorch has another order");
    const std::string class_name = call.layer->class_name();
    const bool is_flat = image.rank() != 0;
    require(!is_flat || class_name == "Dense" || class_name == "Flatten" || keeps_order(*call.layer),
            "[weights] layer ", call.layer->label(), " (", class_name,
            ") takes the pixels of a flattened image, for which PyTorch has another order");
    if (is_flat) found.emplace(call.layer->path(), image);
    if (flattens_image(*call.layer))
      values.push_back(call.layer->input_shape());
    else
      values.push_back(class_name == "Dense" ? Shape() : image);
  }
  return found;
}

}  // namespace ronde::inline v0
