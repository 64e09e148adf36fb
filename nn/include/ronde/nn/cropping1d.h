/// Cropping1D: sequences without their first and last steps. (n, steps, c) -> (n, steps - front - back, c).
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct Cropping1DOptions {
  std::int64_t front = 1, back = 1;
  std::string name = {};
};

class RONDE_API Cropping1D : public Module {
 public:
  explicit Cropping1D(Cropping1DOptions options = {});
  std::string class_name() const override { return "Cropping1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  const Cropping1DOptions& options() const { return options_; }

 private:
  Cropping1DOptions options_;
};

}  // namespace ronde::inline v0
