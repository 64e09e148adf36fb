/// MaxPooling2D: the largest value of each window; padding never wins. Images (n, h, w, c) -> (n, oh, ow, c).
#pragma once

#include <string>

#include <ronde/nn/module.h>
#include <ronde/nn/pooling2d_options.h>

namespace ronde::inline v0 {

class RONDE_API MaxPooling2D : public Module {
 public:
  explicit MaxPooling2D(Pooling2DOptions options = {});
  std::string class_name() const override { return "MaxPooling2D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  const Pooling2DOptions& options() const { return options_; }

 private:
  Pooling2DOptions options_;
};

}  // namespace ronde::inline v0
