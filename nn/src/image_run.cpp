#include "image_run.h"

#include <type_traits>
#include <typeinfo>
#include <utility>

namespace ronde::inline v0 {

// The next layer, taken into the run, if it is of just this class.
template <class Layer>
Layer* ImageRun::next() {
  if (length_ == layers_.size() || !layers_[length_]->is_built()) return nullptr;
  Module& layer = *layers_[length_];
  if (typeid(layer) != typeid(Layer)) return nullptr;
  if constexpr (std::is_same_v<Layer, Conv2D>)
    if (!static_cast<Conv2D&>(layer).is_one_call()) return nullptr;
  ++length_;
  return static_cast<Layer*>(&layer);
}

ImageRun::ImageRun(std::span<Module* const> layers, const Variable& x) : layers_(layers) {
  conv_ = next<Conv2D>();
  if (!conv_) return;
  if (x.shape().rank() != 4 || x.shape().tail(1) != conv_->input_shape()) {
    length_ = 0;
    return;
  }
  if (Conv2D* second = next<Conv2D>()) front_ = std::exchange(conv_, second);
  pool_ = next<MaxPooling2D>();
  dropout_ = next<Dropout>();
}

Variable ImageRun::operator()(const Variable& x, const Context& context) const {
  Conv2dCall conv = conv_->call();
  if (pool_)
    conv.options.max_pool = {.window = pool_->options().pool,
                             .stride = pool_->options().strides,
                             .padding = pool_->options().padding};
  return conv2d_layer(layers_.front()->in_compute_dtype(x),
                      front_ ? std::optional(front_->call()) : std::nullopt, conv,
                      dropout_ ? dropout_->call(x, context) : std::nullopt);
}

std::string ImageRun::path() const {
  std::string path;
  for (const Module* layer : layers_.first(length_)) path += (path.empty() ? "" : " + ") + layer->path();
  return path;
}

}  // namespace ronde::inline v0
