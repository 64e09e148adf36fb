/// ZeroPadding1D: zeros in front of and behind the steps of a sequence. (n, steps, c) -> (n, front + steps +
/// back, c).
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct ZeroPadding1DOptions {
  std::int64_t front = 1, back = 1;
  std::string name = {};
};

class RONDE_API ZeroPadding1D : public Module {
 public:
  explicit ZeroPadding1D(ZeroPadding1DOptions options = {});
  std::string class_name() const override { return "ZeroPadding1D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;
  const ZeroPadding1DOptions& options() const { return options_; }

 private:
  ZeroPadding1DOptions options_;
};

}  // namespace ronde::inline v0
