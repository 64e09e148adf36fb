/// Rescaling: x * scale + offset, with Keras' name. One number serves all, or each channel (the last axis)
/// has its own:
///
///     Rescaling({.scale = {1.0 / 255}});    // bytes to 0 ... 1
///     Rescaling({.scale = {4.05, 4.11, 3.82}, .offset = {-1.99, -1.98, -1.71}});  // mean 0, deviation 1
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct RescalingOptions {
  std::vector<double> scale = {1.0};
  std::vector<double> offset = {0.0};
  std::string name = {};
};

class RONDE_API Rescaling : public Module {
 public:
  explicit Rescaling(RescalingOptions options);
  const RescalingOptions& options() const { return options_; }
  std::string class_name() const override { return "Rescaling"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (..., c) -> (..., c)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  RescalingOptions options_;
  Tensor scale_, offset_;  // of the channels; undefined where one number serves all
};

}  // namespace ronde::inline v0
