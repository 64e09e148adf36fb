/// Softmax: the function as a layer of Keras' class of that name; over the last axis.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Softmax : public Module {
 public:
  /// `axis`: -1, or the number of the last axis of the inputs, counted from the batch's 0; `build` refuses
  /// others.
  explicit Softmax(std::int64_t axis = -1) : axis_(axis) {}
  std::string class_name() const override { return "Softmax"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  std::int64_t axis_;
};

}  // namespace ronde::inline v0
