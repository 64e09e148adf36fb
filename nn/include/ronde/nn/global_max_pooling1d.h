/// GlobalMaxPooling1D: the largest value of each channel over the steps of a sequence. (n, steps, c) -> (n,
/// c), with `keepdims` (n, 1, c).
#pragma once

#include <string>

#include <ronde/nn/global_pooling_options.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API GlobalMaxPooling1D : public Module {
 public:
  explicit GlobalMaxPooling1D(GlobalPoolingOptions options = {});
  const GlobalPoolingOptions& options() const { return options_; }
  std::string class_name() const override { return "GlobalMaxPooling1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  GlobalPoolingOptions options_;
};

}  // namespace ronde::inline v0
