/// UpSampling1D: each step of a sequence `size` times. (n, steps, c) -> (n, steps * size, c).
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct UpSampling1DOptions {
  std::int64_t size = 2;
  std::string name = {};
};

class RONDE_API UpSampling1D : public Module {
 public:
  explicit UpSampling1D(UpSampling1DOptions options = {});
  std::string class_name() const override { return "UpSampling1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  const UpSampling1DOptions& options() const { return options_; }

 private:
  UpSampling1DOptions options_;
};

}  // namespace ronde::inline v0
