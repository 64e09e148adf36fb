/// ELU: x above zero, alpha * (exp(x) - 1) below.
///
///     ELU()       // approaches -1 far below zero
///     ELU(0.5)    // approaches -0.5
///
/// Source: Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2016.
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API ELU : public Module {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  double alpha() const { return alpha_; }
  std::string class_name() const override { return "ELU"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  Variable forward(const Variable& x, const Context& context) override;

 private:
  double alpha_;
};

}  // namespace ronde::inline v0
