/// AveragePooling2D: the mean of each window; padding does not count. Images (n, h, w, c) -> (n, oh, ow, c).
#pragma once

#include <string>

#include <ronde/nn/module.h>
#include <ronde/nn/pooling2d_options.h>

namespace ronde::inline v0 {

class RONDE_API AveragePooling2D : public Module {
 public:
  explicit AveragePooling2D(Pooling2DOptions options = {});
  std::string class_name() const override { return "AveragePooling2D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  Pooling2DOptions options_;
};

}  // namespace ronde::inline v0
