#include <typeinfo>

#include <ronde/nn/attention.h>
#include <ronde/nn/average_pooling1d.h>
#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/bidirectional.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/conv1d_transpose.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/conv2d_transpose.h>
#include <ronde/nn/cropping1d.h>
#include <ronde/nn/cropping2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv1d.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/dot.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/elu.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling1d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/keras_origin.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/layer_scale.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/lstm.h>
#include <ronde/nn/masking.h>
#include <ronde/nn/max_pooling1d.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/repeat_vector.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/separable_conv1d.h>
#include <ronde/nn/separable_conv2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/simple_rnn.h>
#include <ronde/nn/softmax.h>
#include <ronde/nn/time_distributed.h>
#include <ronde/nn/training_only.h>
#include <ronde/nn/unit_normalization.h>
#include <ronde/nn/up_sampling1d.h>
#include <ronde/nn/up_sampling2d.h>
#include <ronde/nn/zero_padding1d.h>
#include <ronde/nn/zero_padding2d.h>

#include "config/config_options.h"
#include "config/known_names.h"
#include "config/snake_case.h"
#include "module/layer_config.h"
#include "nets/graph_operation.h"

namespace ronde::inline v0 {

// Each is defined in its layer's file, beside config().
template <>
std::unique_ptr<Module> read_layer<Add>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<AdditiveAttention>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Attention>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Average>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<AveragePooling1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<AveragePooling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<BatchNormalization>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Bidirectional>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Concatenate>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Conv1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Conv1DTranspose>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Conv2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Conv2DTranspose>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Cropping1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Cropping2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<CustomScaleLayer>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Dense>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<DepthwiseConv1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<DepthwiseConv2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Dot>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Dropout>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<ELU>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Embedding>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Flatten>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<GlobalAveragePooling1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<GlobalAveragePooling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<GlobalMaxPooling1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<GlobalMaxPooling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<GRU>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Graph>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<GroupNormalization>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<LSTM>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<LayerNormalization>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<LayerScale>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<LeakyReLU>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Masking>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<MaxPooling1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<MaxPooling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Maximum>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Minimum>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Multiply>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<MultiHeadAttention>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Normalization>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<PReLU>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Permute>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<RMSNormalization>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<ReLU>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<RepeatVector>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Rescaling>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Reshape>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<SeparableConv1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<SeparableConv2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Sequential>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<SimpleRNN>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Softmax>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<Subtract>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<TimeDistributed>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<TrainingOnly>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<UnitNormalization>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<UpSampling1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<UpSampling2D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<ZeroPadding1D>(const LayerConfig&);
template <>
std::unique_ptr<Module> read_layer<ZeroPadding2D>(const LayerConfig&);

namespace {

std::unique_ptr<Module> read_activation(const LayerConfig& config) {
  return std::make_unique<Activation>(config.activation());
}

/// Of ConvNeXt, whose blocks take (n, h, w, c): whole samples are dropped.
std::unique_ptr<Module> read_stochastic_depth(const LayerConfig& config) {
  return std::make_unique<Dropout>(config.number("drop_path_rate"), Shape{1, 1, 1});
}

/// Of sequences or images: whole channels are dropped.
std::unique_ptr<Module> read_spatial_dropout(const LayerConfig& config) {
  config.ignore({"seed"});
  config.expect_text("data_format", "channels_last");
  const bool is_of_images = config.class_name() == "SpatialDropout2D";
  return std::make_unique<Dropout>(config.number("rate"), is_of_images ? Shape{1, 1, -1} : Shape{1, -1});
}

using LayerReader = std::unique_ptr<Module> (*)(const LayerConfig& config);

struct LayerEntry {
  const char* class_name;
  LayerReader read;
  const std::type_info* type;  // of what it reads
};

template <class Layer>
constexpr LayerEntry entry(const char* class_name, LayerReader read = read_layer<Layer>) {
  return {class_name, read, &typeid(Layer)};
}

constexpr LayerEntry kLayers[] = {
    entry<Activation>("Activation", read_activation),
    entry<Add>("Add"),
    entry<AdditiveAttention>("AdditiveAttention"),
    entry<Attention>("Attention"),
    entry<Average>("Average"),
    entry<AveragePooling1D>("AveragePooling1D"),
    entry<AveragePooling2D>("AveragePooling2D"),
    entry<BatchNormalization>("BatchNormalization"),
    entry<Bidirectional>("Bidirectional"),
    entry<Concatenate>("Concatenate"),
    entry<Conv1D>("Conv1D"),
    entry<Conv1DTranspose>("Conv1DTranspose"),
    entry<Conv2D>("Conv2D"),
    entry<Conv2DTranspose>("Conv2DTranspose"),
    entry<Cropping1D>("Cropping1D"),
    entry<Cropping2D>("Cropping2D"),
    entry<CustomScaleLayer>("CustomScaleLayer"),
    entry<Dense>("Dense"),
    entry<DepthwiseConv1D>("DepthwiseConv1D"),
    entry<DepthwiseConv2D>("DepthwiseConv2D"),
    entry<Dot>("Dot"),
    entry<Dropout>("Dropout"),
    entry<ELU>("ELU"),
    entry<Embedding>("Embedding"),
    entry<Flatten>("Flatten"),
    entry<Graph>("Functional"),
    entry<GRU>("GRU"),
    entry<TrainingOnly>("GaussianDropout"),
    entry<TrainingOnly>("GaussianNoise"),
    entry<GlobalAveragePooling1D>("GlobalAveragePooling1D"),
    entry<GlobalAveragePooling2D>("GlobalAveragePooling2D"),
    entry<GlobalMaxPooling1D>("GlobalMaxPooling1D"),
    entry<GlobalMaxPooling2D>("GlobalMaxPooling2D"),
    entry<GroupNormalization>("GroupNormalization"),
    entry<LSTM>("LSTM"),
    entry<LayerNormalization>("LayerNormalization"),
    entry<LayerScale>("LayerScale"),
    entry<LeakyReLU>("LeakyReLU"),
    entry<Masking>("Masking"),
    entry<MaxPooling1D>("MaxPooling1D"),
    entry<MaxPooling2D>("MaxPooling2D"),
    entry<Maximum>("Maximum"),
    entry<Minimum>("Minimum"),
    entry<MultiHeadAttention>("MultiHeadAttention"),
    entry<Multiply>("Multiply"),
    entry<Normalization>("Normalization"),
    entry<PReLU>("PReLU"),
    entry<Permute>("Permute"),
    entry<RMSNormalization>("RMSNormalization"),
    entry<TrainingOnly>("RandomBrightness"),
    entry<TrainingOnly>("RandomContrast"),
    entry<TrainingOnly>("RandomFlip"),
    entry<TrainingOnly>("RandomRotation"),
    entry<TrainingOnly>("RandomTranslation"),
    entry<TrainingOnly>("RandomZoom"),
    entry<ReLU>("ReLU"),
    entry<RepeatVector>("RepeatVector"),
    entry<Rescaling>("Rescaling"),
    entry<Reshape>("Reshape"),
    entry<SeparableConv1D>("SeparableConv1D"),
    entry<SeparableConv2D>("SeparableConv2D"),
    entry<Sequential>("Sequential"),
    entry<SimpleRNN>("SimpleRNN"),
    entry<Softmax>("Softmax"),
    entry<Dropout>("SpatialDropout1D", read_spatial_dropout),
    entry<Dropout>("SpatialDropout2D", read_spatial_dropout),
    entry<Dropout>("StochasticDepth", read_stochastic_depth),
    entry<Subtract>("Subtract"),
    entry<TimeDistributed>("TimeDistributed"),
    entry<UnitNormalization>("UnitNormalization"),
    entry<UpSampling1D>("UpSampling1D"),
    entry<UpSampling2D>("UpSampling2D"),
    entry<ZeroPadding1D>("ZeroPadding1D"),
    entry<ZeroPadding2D>("ZeroPadding2D"),
};

/// Its weights are integers and scales, of which this library makes nothing.
void refuse_quantized(const LayerConfig& config) {
  const ConfigValue* dtype = config.find("dtype");
  const ConfigValue* policy = dtype && dtype->is_dict() ? dtype->find("class_name") : nullptr;
  if (policy && policy->is_string() && policy->as_string().starts_with("Quantized"))
    config.refuse("dtype", cat(policy->as_string(), ": a quantized layer is not supported"));
}

const LayerEntry* find_layer(const std::string& class_name) {
  const std::string name = class_name == "Model" ? "Functional" : class_name;  // until Keras 2.2
  const auto found = std::find_if(std::begin(kLayers), std::end(kLayers),
                                  [&](const LayerEntry& entry) { return name == entry.class_name; });
  return found == std::end(kLayers) ? nullptr : found;
}

[[noreturn]] void refuse_class(const std::string& class_name, const ConfigValue& config) {
  const ConfigValue* name = config.is_dict() ? config.find("name") : nullptr;
  const std::string of =
      name && name->is_string() ? cat("layer \"", name->as_string(), "\": class") : "layer class";
  require<InputError>(class_name.find_first_of(">.") == std::string::npos, of, " \"", class_name,
                      "\" is not one of Keras: what it computes, only the program that made it knows");
  throw InputError(unknown_name(of, class_name, layer_class_names()));
}

}  // namespace

std::unique_ptr<Module> layer_from_config(const std::string& class_name, const ConfigValue& config) {
  const LayerEntry* entry = find_layer(class_name);
  if (!entry) refuse_class(class_name, config);
  const LayerConfig reader(entry->class_name, config);
  return made_of_options([&] {
    refuse_quantized(reader);
    std::unique_ptr<Module> layer = entry->read(reader);
    const std::string name = reader.text("name", "");
    if (!name.empty()) layer->set_name(without_slashes(name));
    if (!reader.boolean("trainable", true)) layer->set_own_trainable(false);
    layer->set_left_out(reader.unread());
    return layer;
  });
}

bool is_of_known_class(const Module& module) {
  return std::any_of(std::begin(kLayers), std::end(kLayers),
                     [&](const LayerEntry& known) { return *known.type == typeid(module); });
}

std::vector<std::string> left_out_of_training(const Module& net) {
  std::vector<std::string> names;
  if (dynamic_cast<const TrainingOnly*>(&net) != nullptr)
    names.push_back(cat(net.class_name(), " ", net.label()));
  for (const auto& [key, value] : net.left_out())
    if (is_for_training_only(key)) names.push_back(cat(key, " of ", net.label()));
  for (const Module* child : net.children())
    for (std::string& name : left_out_of_training(*child)) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> unknown_options(const std::string& class_name, const ConfigValue& config) {
  if (is_operation(class_name)) return {};
  const LayerEntry* entry = find_layer(class_name);
  if (!entry) refuse_class(class_name, config);
  const LayerConfig reader(entry->class_name, config);
  entry->read(reader);
  std::vector<std::string> options;
  for (const auto& [key, value] : reader.unread())
    if (!is_for_training_only(key)) options.push_back(key);
  return options;
}

std::vector<std::string> layer_class_names() {
  std::vector<std::string> names;
  for (const LayerEntry& entry : kLayers) names.emplace_back(entry.class_name);
  return names;
}

std::string default_layer_name(const std::string& class_name) {
  return snake_case(class_name);
}

std::optional<Shape> described_input_shape(const ConfigValue& layer_config) {
  for (const char* key : {"batch_input_shape", "batch_shape"}) {
    const ConfigValue* described = layer_config.find(key);
    if (described == nullptr || !described->is_list()) continue;
    const ConfigList& extents = described->as_list();
    require<InputError>(!extents.empty() && extents.size() <= Shape::kMaxRank, "its input shape has ",
                        extents.size(), " axes");
    Shape shape;
    for (std::size_t axis = 1; axis < extents.size(); ++axis) {
      shape.push_back(extents[axis].is_null() ? 0 : extents[axis].as_int());
      require<InputError>(extents[axis].is_null() || shape.back() > 0, "its input shape has ", shape.back(),
                          " at axis ", axis);
    }
    return shape;
  }
  return {};
}

}  // namespace ronde::inline v0
