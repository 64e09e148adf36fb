/// Flatten: all axes but the batch into one. (n, h, w, c) -> (n, h * w * c).
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Flatten : public Module {
 public:
  std::string class_name() const override { return "Flatten"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
};

}  // namespace ronde::inline v0
