/// PReLU: x above zero, alpha * x below, where alpha is learned.
///
///     PReLU()                            // (n, ..., c): an alpha for each element of a sample
///     PReLU({.shared_axes = {1, 2}})     // (n, h, w, c): one for each channel
///
/// alpha has the input's shape without the batch, and the extent 1 at the shared axes, which are counted from
/// the batch's 0. Source: He et al., "Delving deep into rectifiers", 2015.
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/initializer.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct PReLUOptions {
  Initializer alpha_initializer = Initializer::zeros;
  Regularizer alpha_regularizer = {};
  std::vector<std::int64_t> shared_axes = {};  ///< from 1 on
  std::string name = {};
};

class RONDE_API PReLU : public Module {
 public:
  explicit PReLU(PReLUOptions options = {});
  std::string class_name() const override { return "PReLU"; }
  const PReLUOptions& options() const { return options_; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (n, ...) -> (n, ...)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  PReLUOptions options_;
  Variable alpha_;
};

}  // namespace ronde::inline v0
