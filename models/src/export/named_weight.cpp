#include "export/named_weight.h"

#include <algorithm>
#include <map>
#include <set>

#include <ronde/nn/prelu.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/weight_layout.h>

#include "export/flattened_images.h"
#include "state/find_module.h"

namespace ronde::inline v0 {

namespace {

/// "conv2d/kernel" -> {"conv2d", "kernel"}
struct SplitName {
  explicit SplitName(const std::string& full) {
    const auto slash = full.rfind('/');
    if (slash != std::string::npos) layer = full.substr(0, slash);
    weight = full.substr(slash + 1);
  }
  std::string layer, weight;
};

std::string torch_name(const std::string& keras) {
  static const std::map<std::string, std::string> kNames{{"kernel", "weight"},
                                                         {"embeddings", "weight"},
                                                         {"depthwise_kernel", "weight"},
                                                         {"gamma", "weight"},
                                                         {"beta", "bias"},
                                                         {"moving_mean", "running_mean"},
                                                         {"moving_variance", "running_var"}};
  SplitName name(keras);
  std::replace(name.layer.begin(), name.layer.end(), '/', '.');
  const auto found = kNames.find(name.weight);
  const std::string& weight = found == kNames.end() ? name.weight : found->second;
  return name.layer.empty() ? weight : cat(name.layer, ".", weight);
}

/// Rows of pixels h, w, c -> c, h, w. `rows` has them as its first axis.
Tensor channels_first(const Tensor& rows, const Shape& image) {
  if (image.rank() == 0) return rows;
  const Tensor pixels = rows.reshape({image[0], image[1], image[2], -1});
  return pixels.permute({2, 0, 1, 3}).reshape(rows.shape());
}

/// And back.
Tensor channels_last(const Tensor& rows, const Shape& image) {
  if (image.rank() == 0) return rows;
  const Tensor pixels = rows.reshape({image[2], image[0], image[1], -1});
  return pixels.permute({1, 2, 0, 3}).reshape(rows.shape());
}

/// The layers that have two kernels: PyTorch writes a separable convolution as a module of two, of which the
/// second has the bias.
std::set<std::string> separable_layers(const std::vector<Parameter>& weights) {
  std::set<std::string> layers;
  for (const Parameter& weight : weights)
    if (const SplitName name(weight.name); name.weight == "pointwise_kernel") layers.insert(name.layer);
  return layers;
}

/// "separable_conv2d/depthwise_kernel" -> "separable_conv2d/depthwise/kernel"
std::string in_module_of_two(const SplitName& name) {
  const bool first = name.weight == "depthwise_kernel";
  return cat(name.layer, first ? "/depthwise/" : "/pointwise/", name.weight == "bias" ? "bias" : "kernel");
}

/// The paths of the layers of this class in a net, which may be one itself.
template <class Layer>
std::set<std::string> paths_of(const Module& net) {
  std::set<std::string> paths;
  for_each_module(net, [&](const Module& module) {
    if (dynamic_cast<const Layer*>(&module) != nullptr) paths.insert(module.path());
  });
  return paths;
}

/// Of a convolution of sequences, whose kernel is a row here.
bool is_of_series(WeightLayout layout) {
  return layout == WeightLayout::conv1d || layout == WeightLayout::depthwise1d;
}

}  // namespace

NamedWeight::NamedWeight(Parameter parameter, WeightNames names, const Shape& flattened, bool is_vector)
    : parameter_(std::move(parameter)),
      names_(names),
      name_(names == WeightNames::torch ? torch_name(parameter_.name) : parameter_.name),
      flattened_(flattened),
      is_vector_(is_vector) {}

bool NamedWeight::is_dense_kernel() const {
  return parameter_.layout == WeightLayout::plain && parameter_.variable.shape().rank() == 2 &&
         SplitName(parameter_.name).weight == "kernel";
}

Shape NamedWeight::shape() const {
  const Shape memory = parameter_.variable.shape();
  if (names_ == WeightNames::keras) return keras_shape(parameter_);
  if (is_of_series(parameter_.layout)) return {memory[0], memory[3], memory[2]};
  if (parameter_.layout != WeightLayout::plain) return {memory[0], memory[3], memory[1], memory[2]};
  if (is_vector_) return {memory.count()};
  return is_dense_kernel() ? Shape{memory[1], memory[0]} : memory;
}

Tensor NamedWeight::get() const {
  if (names_ == WeightNames::keras) return to_keras_layout(parameter_);
  const Tensor& memory = parameter_.variable.value();
  if (parameter_.layout != WeightLayout::plain) return memory.permute({0, 3, 1, 2}).clone().reshape(shape());
  const Tensor rows = channels_first(memory, flattened_);
  return is_dense_kernel() ? rows.permute({1, 0}).clone() : rows.clone().reshape(shape());
}

void NamedWeight::set(const Tensor& value) {
  if (names_ == WeightNames::keras) return assign_keras_layout(parameter_, value);
  if (is_of_series(parameter_.layout))
    return parameter_.variable.assign(value.permute({0, 2, 1}).reshape(parameter_.variable.shape()));
  if (parameter_.layout != WeightLayout::plain)
    return parameter_.variable.assign(value.permute({0, 2, 3, 1}));
  const Tensor rows = is_dense_kernel() ? value.permute({1, 0}) : value.reshape(parameter_.variable.shape());
  parameter_.variable.assign(channels_last(rows, flattened_));
}

namespace {

std::vector<NamedWeight> weights_of(const Module& net, WeightNames names, const FlattenedImages& flattened) {
  const std::size_t path_size = net.path().empty() ? 0 : net.path().size() + 1;
  std::vector<NamedWeight> weights;
  const std::vector<Parameter> parameters = net.parameters();
  const std::set<std::string> separable =
      names == WeightNames::torch ? separable_layers(parameters) : std::set<std::string>();
  const std::set<std::string> with_slopes = paths_of<PReLU>(net),
                              with_scale = paths_of<RMSNormalization>(net);
  for (Parameter parameter : parameters) {
    const SplitName name(parameter.name);
    const bool has_slopes = with_slopes.contains(name.layer);
    if (names == WeightNames::torch && (has_slopes || with_scale.contains(name.layer)))
      parameter.name.replace(parameter.name.size() - name.weight.size(), std::string::npos, "gamma");
    if (separable.contains(name.layer)) parameter.name = in_module_of_two(name);
    const auto found = flattened.find(name.layer);
    // A dense layer's bias has an element for each unit, not for each pixel, and one slope is for all of
    // them.
    const bool has_pixels = found != flattened.end() && name.weight != "bias" &&
                            !(has_slopes && parameter.variable.shape().count() == 1);
    parameter.name.erase(0, path_size);
    weights.emplace_back(std::move(parameter), names, has_pixels ? found->second : Shape(), has_slopes);
  }
  return weights;
}

}  // namespace

std::vector<NamedWeight> named_weights_of(const Module& net, WeightNames names) {
  require(net.is_built(), "[weights] the net is not built: it has no weights yet");
  return weights_of(net, names, names == WeightNames::torch ? find_flattened_images(net) : FlattenedImages());
}

std::set<std::string> weight_names_of(const Module& net, WeightNames names) {
  std::set<std::string> all;
  for (const NamedWeight& weight : weights_of(net, names, {})) all.insert(weight.name());
  return all;
}

}  // namespace ronde::inline v0
