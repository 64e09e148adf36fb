/// AveragePooling1D: the mean of each window; padding does not count. Sequences (n, steps, c) -> (n, steps
/// out, c).
#pragma once

#include <string>

#include <ronde/nn/module.h>
#include <ronde/nn/pooling1d_options.h>

namespace ronde::inline v0 {

class RONDE_API AveragePooling1D : public Module {
 public:
  explicit AveragePooling1D(Pooling1DOptions options = {});
  std::string class_name() const override { return "AveragePooling1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  const Pooling1DOptions& options() const { return options_; }

 private:
  Pooling1DOptions options_;
};

}  // namespace ronde::inline v0
