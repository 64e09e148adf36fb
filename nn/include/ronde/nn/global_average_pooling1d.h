/// GlobalAveragePooling1D: the mean of each channel over the steps of a sequence. (n, steps, c) -> (n, c).
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API GlobalAveragePooling1D : public Module {
 public:
  std::string class_name() const override { return "GlobalAveragePooling1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
};

}  // namespace ronde::inline v0
