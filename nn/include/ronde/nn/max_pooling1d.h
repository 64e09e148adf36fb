/// MaxPooling1D: the largest value of each window; padding never wins. Sequences (n, steps, c) -> (n, steps
/// out, c).
#pragma once

#include <string>

#include <ronde/nn/module.h>
#include <ronde/nn/pooling1d_options.h>

namespace ronde::inline v0 {

class RONDE_API MaxPooling1D : public Module {
 public:
  explicit MaxPooling1D(Pooling1DOptions options = {});
  std::string class_name() const override { return "MaxPooling1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  const Pooling1DOptions& options() const { return options_; }

 private:
  Pooling1DOptions options_;
};

}  // namespace ronde::inline v0
