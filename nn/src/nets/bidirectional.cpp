#include <ronde/nn/bidirectional.h>

#include <algorithm>
#include <array>

#include <ronde/core/ops.h>

#include "nets/wrapped_layer.h"

namespace ronde::inline v0 {

namespace {

// Keras' names of the two layers, and of the modes in the order of the enum.
constexpr const char* kForward = "forward_layer";
constexpr const char* kBackward = "backward_layer";
constexpr std::array<const char*, 4> kMergeModes = {"concat", "sum", "mul", "ave"};

}  // namespace

Bidirectional::Bidirectional(std::unique_ptr<Recurrent> forward, std::unique_ptr<Recurrent> backward,
                             BidirectionalOptions options)
    : merge_mode_(options.merge_mode), has_own_backward_(backward != nullptr) {
  if (!options.name.empty()) set_name(options.name);
  if (!has_own_backward_) {
    backward = forward->reversed();
    backward->set_trainable(forward->trainable());
  }
  const RecurrentOptions &ahead = forward->options(), &back = backward->options();
  require<UsageError>(ahead.go_backwards != back.go_backwards &&
                          ahead.return_sequences == back.return_sequences &&
                          (ahead.units == back.units || merge_mode_ == MergeMode::concat),
                      "[", label(),
                      "] needs a layer that goes backwards and one that does not, with the same "
                      "return_sequences and, but for concat, units");
  forward_ = forward.get();
  backward_ = backward.get();
  backward_->turn_outputs();
  for (Recurrent* layer : {forward_, backward_}) layer->set_zero_output_for_mask(ahead.return_sequences);
  add_module(kForward, std::move(forward));
  add_module(kBackward, std::move(backward));
}

Variable Bidirectional::forward(const Variable& x, const Context& context) {
  const Variable ahead = (*forward_)(x, context), back = (*backward_)(x, context);
  switch (merge_mode_) {
    case MergeMode::concat:
      return concat({ahead, back}, -1);
    case MergeMode::mul:
      return ahead * back;
    case MergeMode::ave:
      return (ahead + back) * 0.5;
    default:
      return ahead + back;
  }
}

ConfigDict Bidirectional::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("layer", wrapped_layer(*forward_));
  // Keras 3 makes none that goes ahead.
  if (has_own_backward_ || forward_->options().go_backwards)
    config.emplace_back(kBackward, wrapped_layer(*backward_));
  config.emplace_back("merge_mode", kMergeModes[static_cast<std::size_t>(merge_mode_)]);
  return config;
}

namespace {

std::unique_ptr<Recurrent> read_recurrent(const LayerConfig& config, const char* key) {
  std::unique_ptr<Module> layer = read_wrapped_layer(config, key);
  if (layer == nullptr) return nullptr;
  auto* recurrent = dynamic_cast<Recurrent*>(layer.get());
  if (recurrent == nullptr)
    config.refuse(key, cat("a ", layer->class_name(), " is not an LSTM, a GRU or a SimpleRNN"));
  layer.release();
  return std::unique_ptr<Recurrent>(recurrent);
}

MergeMode read_merge_mode(const LayerConfig& config) {
  if (config.is_null("merge_mode")) config.refuse("merge_mode", "null, for two outputs, is not supported");
  const std::string name = config.text("merge_mode", kMergeModes.front());
  const auto found = std::find(kMergeModes.begin(), kMergeModes.end(), name);
  if (found == kMergeModes.end()) config.refuse("merge_mode", cat("\"", name, "\" is not supported"));
  return static_cast<MergeMode>(found - kMergeModes.begin());
}

}  // namespace

template <>
std::unique_ptr<Module> read_layer<Bidirectional>(const LayerConfig& config) {
  std::unique_ptr<Recurrent> forward = read_recurrent(config, "layer");
  if (forward == nullptr) config.refuse("layer", "missing");
  auto layer = std::make_unique<Bidirectional>(std::move(forward), read_recurrent(config, kBackward),
                                               BidirectionalOptions{.merge_mode = read_merge_mode(config)});
  if (!config.boolean("trainable", true)) layer->set_trainable(false);
  return layer;
}

}  // namespace ronde::inline v0
