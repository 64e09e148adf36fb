/// ZeroPadding2D: rows and columns of zeros around the images. (n, h, w, c) -> (n, h + top + bottom, ..., c).
///
///     ZeroPadding2D(3)                            // three on every side
///     ZeroPadding2D({.bottom = 0, .right = 0})    // one above, one to the left
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct ZeroPadding2DOptions {
  std::int64_t top = 1, bottom = 1;
  std::int64_t left = 1, right = 1;
  std::string name = {};
};

class RONDE_API ZeroPadding2D : public Module {
 public:
  explicit ZeroPadding2D(ZeroPadding2DOptions options = {});
  explicit ZeroPadding2D(std::int64_t every_side)
      : ZeroPadding2D(ZeroPadding2DOptions{every_side, every_side, every_side, every_side, {}}) {}
  const ZeroPadding2DOptions& options() const { return options_; }
  Margins2d margins() const { return {options_.top, options_.bottom, options_.left, options_.right}; }
  std::string class_name() const override { return "ZeroPadding2D"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  ZeroPadding2DOptions options_;
};

}  // namespace ronde::inline v0
