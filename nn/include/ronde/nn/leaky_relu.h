/// LeakyReLU: x above zero, negative_slope * x below.
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.3);
  double negative_slope() const { return negative_slope_; }
  std::string class_name() const override { return "LeakyReLU"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  Variable forward(const Variable& x, const Context& context) override;

 private:
  double negative_slope_;
};

}  // namespace ronde::inline v0
