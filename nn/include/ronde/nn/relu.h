/// ReLU: the function as a layer of Keras' class of that name, which can also be bounded or leak.
///
///     ReLU()                      // max(x, 0)
///     ReLU({.max_value = 6.0})    // min(max(x, 0), 6)
#pragma once

#include <optional>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct ReLUOptions {
  std::optional<double> max_value = {};  ///< no bound if not set
  double negative_slope = 0.0;
  std::string name = {};
};

class RONDE_API ReLU : public Module {
 public:
  explicit ReLU(ReLUOptions options = {});
  const ReLUOptions& options() const { return options_; }
  std::string class_name() const override { return "ReLU"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  Variable forward(const Variable& x, const Context& context) override;

 private:
  ReLUOptions options_;
};

}  // namespace ronde::inline v0
