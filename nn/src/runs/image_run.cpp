#include "runs/image_run.h"

#include <optional>
#include <utility>

#include <ronde/nn/zero_padding2d.h>

#include "layers/margins.h"

namespace ronde::inline v0 {

namespace {

bool is_one_conv2d_call(const Conv2D& layer) {
  return layer.is_one_call();
}

}  // namespace

ImageRun::ImageRun(std::span<Module* const> layers, const Variable& x, const Context&) : LayerRun(layers) {
  const ZeroPadding2D* padding = next<ZeroPadding2D>();
  if (padding) margins_ = padding->margins();
  conv_ = next<Conv2D>(is_one_conv2d_call);
  const bool fits = conv_ && (!padding || takes_margins(*conv_, margins_)) && x.shape().rank() == 4 &&
                    x.shape().tail(1) == first().input_shape();
  if (!fits) {
    clear();
    return;
  }
  if (Conv2D* second = next<Conv2D>(is_one_conv2d_call)) front_ = std::exchange(conv_, second);
  pool_ = next<MaxPooling2D>();
  dropout_ = next_dropout();
}

Variable ImageRun::operator()(const Variable& x, const Context& context) const {
  Conv2dCall conv = conv_->call();
  std::optional<Conv2dCall> front;
  if (front_) front = front_->call();
  (front ? *front : conv).options.margins = margins_;
  if (pool_)
    conv.options.max_pool = {.window = pool_->options().pool,
                             .stride = pool_->options().strides,
                             .padding = pool_->options().padding};
  return conv2d_layer(first().in_compute_dtype(x), front, conv,
                      dropout_ ? dropout_->call(x, context) : std::nullopt);
}

}  // namespace ronde::inline v0
