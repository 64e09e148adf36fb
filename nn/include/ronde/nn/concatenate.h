/// Concatenate: several inputs one behind the other along one axis, by default the channels.
///
///     y = net.add(Concatenate(), {x, y});  // (n, h, w, a), (n, h, w, b) -> (n, h, w, a + b)
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Concatenate : public Module {
 public:
  /// The batch is axis 0; a negative axis counts from the end.
  explicit Concatenate(int axis = -1) : axis_(axis) {}
  int axis() const { return axis_; }
  std::string class_name() const override { return "Concatenate"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// One input alone passes through.
  Variable forward(const Variable& x, const Context& context) override;
  Variable join(const std::vector<Variable>& inputs, const Context& context) override;

 private:
  int axis_;
};

}  // namespace ronde::inline v0
