/// GlobalMaxPooling2D: the largest value of each channel over the image. (n, h, w, c) -> (n, c).
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API GlobalMaxPooling2D : public Module {
 public:
  std::string class_name() const override { return "GlobalMaxPooling2D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
};

}  // namespace ronde::inline v0
