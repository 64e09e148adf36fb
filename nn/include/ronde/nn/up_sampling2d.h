/// UpSampling2D: images with `size` times as many rows and columns. (n, h, w, c) -> (n, h * size.h, w *
/// size.w, c).
///
///     UpSampling2D()                                                          // each pixel becomes 2 x 2
///     UpSampling2D({.size = {4, 4}, .interpolation = Interpolation::bilinear})
///
/// nearest repeats pixels. bilinear, of a size up to 65,536: the middles of pixels lie at 0.5, 1.5, ...;
/// between two of them values change evenly, beyond the outermost they stay: what Keras computes on
/// TensorFlow 2.
#pragma once

#include <string>

#include <ronde/core/kernel_params.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

enum class Interpolation { nearest, bilinear };

struct UpSampling2DOptions {
  Size2d size{2, 2};
  Interpolation interpolation = Interpolation::nearest;
  std::string name = {};
};

class RONDE_API UpSampling2D : public Module {
 public:
  explicit UpSampling2D(UpSampling2DOptions options = {});
  std::string class_name() const override { return "UpSampling2D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  UpSampling2DOptions options_;
};

}  // namespace ronde::inline v0
