/// Conv2D: activation(cross-correlation of images with a kernel + bias), images (n, h, w, c).
///
/// Kernel: (filters, kh, kw, c / groups) in memory, (kh, kw, c / groups, filters) in Keras' files. relu is
/// computed by the convolution itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct Conv2DOptions {
  std::int64_t filters = 0;
  Size2d kernel{3, 3};
  Size2d strides{1, 1};
  Padding padding = Padding::valid;
  Size2d dilation{1, 1};
  std::int64_t groups = 1;
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  std::string name = {};
};

class RONDE_API Conv2D : public Module {
 public:
  explicit Conv2D(Conv2DOptions options);
  std::string class_name() const override { return "Conv2D"; }
  ConfigDict config() const override;
  /// (n, h, w, c) -> (n, oh, ow, filters)
  Variable forward(const Variable& x, const Context& context) override;
  /// What a MaxPooling2D makes of `forward`'s result, which is not kept then: less memory to go through.
  Variable forward_pooled(const Variable& x, const Pool2dOptions& pool);
  /// Whether `forward_pooled` can be had: for relu and no activation.
  bool can_pool() const;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  Variable convolve(const Variable& x, const std::optional<Pool2dOptions>& pool);

  Conv2DOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
