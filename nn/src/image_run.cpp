#include "image_run.h"

#include <optional>
#include <utility>

namespace ronde::inline v0 {

namespace {

bool is_one_conv2d_call(const Conv2D& layer) {
  return layer.is_one_call();
}

}  // namespace

ImageRun::ImageRun(std::span<Module* const> layers, const Variable& x) : LayerRun(layers) {
  conv_ = next<Conv2D>(is_one_conv2d_call);
  if (!conv_) return;
  if (x.shape().rank() != 4 || x.shape().tail(1) != conv_->input_shape()) {
    clear();
    return;
  }
  if (Conv2D* second = next<Conv2D>(is_one_conv2d_call)) front_ = std::exchange(conv_, second);
  pool_ = next<MaxPooling2D>();
  dropout_ = next_dropout();
}

Variable ImageRun::operator()(const Variable& x, const Context& context) const {
  Conv2dCall conv = conv_->call();
  if (pool_)
    conv.options.max_pool = {.window = pool_->options().pool,
                             .stride = pool_->options().strides,
                             .padding = pool_->options().padding};
  return conv2d_layer(first().in_compute_dtype(x), front_ ? std::optional(front_->call()) : std::nullopt,
                      conv, dropout_ ? dropout_->call(x, context) : std::nullopt);
}

}  // namespace ronde::inline v0
