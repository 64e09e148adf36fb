/// Softmax: the function as a layer of Keras' class of that name; over the last axis.
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Softmax : public Module {
 public:
  std::string class_name() const override { return "Softmax"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
};

}  // namespace ronde::inline v0
