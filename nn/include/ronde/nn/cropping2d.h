/// Cropping2D: leaves out rows and columns at the edges of the images. (n, h, w, c) -> (n, h - top - bottom,
/// w - left - right, c).
///
///     Cropping2D(3)                              // three on every side
///     Cropping2D({.top = 1, .right = 2})         // the first row and the last two columns
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct Cropping2DOptions {
  std::int64_t top = 0, bottom = 0;
  std::int64_t left = 0, right = 0;
  std::string name = {};
};

class RONDE_API Cropping2D : public Module {
 public:
  explicit Cropping2D(Cropping2DOptions options = {});
  explicit Cropping2D(std::int64_t every_side)
      : Cropping2D(Cropping2DOptions{every_side, every_side, every_side, every_side, {}}) {}
  const Cropping2DOptions& options() const { return options_; }
  std::string class_name() const override { return "Cropping2D"; }
  ConfigDict config() const override;
  /// At least one row and one column stay.
  Variable forward(const Variable& x, const Context& context) override;

 private:
  Cropping2DOptions options_;
};

}  // namespace ronde::inline v0
