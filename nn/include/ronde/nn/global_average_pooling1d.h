/// GlobalAveragePooling1D: the mean of each channel over the steps of a sequence. (n, steps, c) -> (n, c),
/// with `keepdims` (n, 1, c). Of those that a mask (masking.h) leaves in, if there is one.
#pragma once

#include <string>

#include <ronde/nn/global_pooling_options.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API GlobalAveragePooling1D : public Module {
 public:
  explicit GlobalAveragePooling1D(GlobalPoolingOptions options = {});
  const GlobalPoolingOptions& options() const { return options_; }
  std::string class_name() const override { return "GlobalAveragePooling1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  GlobalPoolingOptions options_;
};

}  // namespace ronde::inline v0
